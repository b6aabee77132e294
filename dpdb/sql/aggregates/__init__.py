"""Aggregates: their arguments, clamps, formulas over several columns, and windows."""
