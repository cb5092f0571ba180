"""Kernels that grow trees whose values add up."""
