"""The physical plan of one aggregate: its moments, mechanism, scale and releases."""
