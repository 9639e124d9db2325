"""Runs plans: messages, kernels, memory, and statistics."""
