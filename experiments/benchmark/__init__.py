"""The honest benchmark: models of several libraries side by side."""
