"""The names of NumPy, and the few that only a distributed array needs."""
