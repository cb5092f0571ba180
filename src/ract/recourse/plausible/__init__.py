"""Searches without proof: leaves, regions of known people, plausible plans."""
