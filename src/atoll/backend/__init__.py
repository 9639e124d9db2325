"""Kernels and memory: one package per backend."""
