"""Recourse when changes have effects on other features."""
