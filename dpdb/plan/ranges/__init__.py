"""Ranges of expressions: their bounds, steps, possible values and statistics.

A range follows from declared bounds and the filter by interval arithmetic, never from rows.
"""
