"""Parallel file input and output: every rank writes and reads its own part."""
