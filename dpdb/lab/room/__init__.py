"""A room of people with a secret bit each, found out by counts, until there is a budget."""
