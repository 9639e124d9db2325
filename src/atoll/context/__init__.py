"""What every layer may ask of a running program: call sites, threads, counts, and whether ranks are in step."""
