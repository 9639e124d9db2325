"""From wanted nodes to a program: what is stored, what fuses, and as which loops it runs."""
