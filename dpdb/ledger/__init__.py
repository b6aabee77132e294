"""What has been spent: the price of a statement, and the refusal of what the budget does not cover.

A ledger is told a composed loss and the region of a filter. It may not know queries, rows or noise.
"""
