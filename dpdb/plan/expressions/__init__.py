"""Expressions over a row: columns, arithmetic, functions, patterns.

The lowest room of the plan: it knows no query and no range of values.
"""
