"""Arguments of aggregates over arrays of rows: codes, steps of a grid, exact sums and counts.

No module here knows units, relations or plans as a whole.
"""
