"""Expressions over columns of values: total, with SQL's NULL, each row by itself.

Engines evaluate them before the noise and answers after it, so the room may not know either, nor
where the columns come from.
"""
