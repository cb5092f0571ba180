"""The cheapest accepted point under a cost that adds up over axes: branch and bound with proof."""
