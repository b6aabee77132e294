"""The ledger of a budget: prices of statements, charges, and the balance.

A ledger receives the composed loss of a statement and the region of its filter, and refuses what
the budget does not cover. That of a session is in memory; that of a budget with a name is a book
on the disk, whose entries are sealed in a chain, and which keeps what was released beside them, as
texts that this room does not read. The room may not know queries, rows or noise.
"""
