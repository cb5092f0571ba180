"""Kernels that grow trees."""
