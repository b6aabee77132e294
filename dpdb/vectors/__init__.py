"""The value of expressions over columns: total, with SQL's NULL, each row by itself.

Engines evaluate expressions before the noise, and answers after it. So the room may know neither
engines nor answers, nor where the columns come from.
"""
