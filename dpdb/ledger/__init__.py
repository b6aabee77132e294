"""The ledger of a budget: prices of statements, charges, and the balance.

A ledger receives the composed loss of a statement and the region of its filter, and refuses what
the budget does not cover. The room may not know queries, rows or noise.
"""
