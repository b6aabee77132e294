"""The ledger of a budget: prices of statements, charges, and the balance.

A ledger receives the composed loss of a statement and the region of its filter, and refuses what
the budget does not cover. That of a session is in memory; that of a budget with a name is a book
on the disk, whose entries are sealed in a chain, and which keeps what was released beside them, as
texts that this room does not read.

Releases that are kept are noisy values, so they may be shown again; one that anybody has changed is
never shown, as its seal needs the ledger's key. They are not part of the chain of entries: one that
is missing is drawn anew. Where a coarser one of the same is left, that costs only the difference
from it, which is less than two independent draws tell: who can write the ledger is not held by it.

The room may not know queries, rows or noise.
"""
