"""The mechanisms: the law of each one's noise or choice, and what it loses.

The room sees no data, and loads no numpy. `mechanism` says what each owes, and
`selections` has those that choose.
"""
