"""Distribution: who owns, who needs, what moves, and the messages that move it."""
