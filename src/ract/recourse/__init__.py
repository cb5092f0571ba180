"""Finding, for each person, the cheapest action that gets them the desired class."""
