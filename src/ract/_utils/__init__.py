"""What every part of the package uses and nobody imports from outside."""
