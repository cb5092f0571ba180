"""Exact search for costs that add up over features."""
