"""Algorithms in plain Python and arrays, around the kernels."""
