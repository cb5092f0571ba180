"""The exact search: the cheapest action, with proof."""
