"""Kernels of the searches: forests in cells, boxes, yes-or-no questions."""
