"""The context of a running program, for all layers: call sites, threads, counts, divergence."""
