"""A pass over a table: what blocks are added to, and other processes that add them."""
