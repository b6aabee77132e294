"""The mechanisms: the law of each one's noise or choice, and what it loses.

The room sees no data, and loads no numpy. `protocol` says what a mechanism owes.
"""
