"""Arguments worked out on arrays: as codes, as steps of a grid, as exact sums and counts.

No module here knows units, relations or plans as a whole.
"""
