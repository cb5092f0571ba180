"""Rules between features on top of the exact searches."""
