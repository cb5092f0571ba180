"""What is said beyond the cheapest plan."""
