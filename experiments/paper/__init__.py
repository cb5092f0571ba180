"""The experiments of the paper, by its authors' rules."""
