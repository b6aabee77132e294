"""`dpdb lab`: attacks, a class's files, and the game of a room of secrets."""
