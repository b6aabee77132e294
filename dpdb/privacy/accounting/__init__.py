"""How losses add up: the theorems of composition, and what a budget covers by each of them.

The room may not know data, noise or plans, and loads no numpy: a price is told while one types.
"""
