"""A game for class: counts reconstruct the secret bits of a room, until there is a budget."""
