"""The exact statistics of one SELECT: of some rows, and put together from those of all rows."""
