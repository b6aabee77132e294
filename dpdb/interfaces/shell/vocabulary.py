"""The words of the dialect besides its functions, for highlighting and completion.

Importing the parser for these words would delay the prompt. Tests compare them with the words that
the parser allows.
"""

from __future__ import annotations

NAMED_ARGUMENTS = {
    "contribution_bounds_per_row": ("=> (low, high)", "each row is clamped, as by CLAMP"),
    "contribution_bounds_per_group": ("=> (low, high)", "what a unit adds in a group is clamped"),
}
"""The text behind the name of each named argument of aggregates, and the meaning."""

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND",
    "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ILIKE", "ESCAPE", "BETWEEN", "CASE", "WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "FILTER", "WITHIN", "ASC", "DESC", "NULLS", "FIRST", "LAST", "TRUE",
    "FALSE", "EXPLAIN", "SHOW", "ALL", "BUDGET", "HISTORY", "TABLES", "DESCRIBE", "SET", "WITH",
    "DIFFERENTIAL_PRIVACY", "OPTIONS", "DATE", "TIMESTAMP", "ANONYMIZATION", "CLAMPED",
    "CONTRIBUTION_BOUNDS_PER_ROW", "CONTRIBUTION_BOUNDS_PER_GROUP", "OVER", "PARTITION", "ROWS",
    "PRECEDING", "FOLLOWING", "UNBOUNDED", "CURRENT", "ROW", "QUALIFY", "WINDOW", "UNION",
    "ROLLUP", "CUBE", "GROUPING", "SETS", "JOIN", "INNER", "FULL", "CROSS", "ON", "USING", "EXISTS",
)  # fmt: skip
STARTS = {
    "SELECT": "ask a question",
    "WITH": "name a table for one question",
    "EXPLAIN SELECT": "its noise and its price, free",
    "SHOW BUDGET": "what is spent and left",
    "SHOW TABLES": "what can be asked about",
    "SHOW ALL": "the settings",
    "DESCRIBE": "a table's columns",
    "SET": "what each query may spend, and whether repeats are free",
}
"""The words that begin a statement, and what each statement is for."""
