"""The ledger file: its database, its entries, and the state that they add up to."""
