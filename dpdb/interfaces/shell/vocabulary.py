"""The words of the dialect, for highlighting, completion and help.

They are written down here because importing the parser for them would delay the prompt. Tests
compare them with the words that the parser allows.
"""

from __future__ import annotations

AGGREGATES = {
    "COUNT": ("COUNT(* | x | DISTINCT x)", "how many rows, values, different values"),
    "COUNT_IF": ("COUNT_IF(condition)", "how many rows fulfil it"),
    "SUM": ("SUM(x)", "the total; x needs bounds"),
    "AVG": ("AVG(x)", "the mean; x needs bounds"),
    "MEAN": ("MEAN(x)", "AVG"),
    "MIN": ("MIN(x)", "a value near the smallest"),
    "MAX": ("MAX(x)", "a value near the largest"),
    "VARIANCE": ("VARIANCE(x)", "the variance of a sample"),
    "VAR": ("VAR(x)", "VARIANCE"),
    "VAR_SAMP": ("VAR_SAMP(x)", "the variance of a sample"),
    "VAR_POP": ("VAR_POP(x)", "the variance of a population"),
    "STDDEV": ("STDDEV(x)", "the standard deviation of a sample"),
    "STDEV": ("STDEV(x)", "STDDEV"),
    "STD": ("STD(x)", "STDDEV"),
    "SD": ("SD(x)", "STDDEV"),
    "STDDEV_SAMP": ("STDDEV_SAMP(x)", "the standard deviation of a sample"),
    "STDDEV_POP": ("STDDEV_POP(x)", "the standard deviation of a population"),
    "MEDIAN": ("MEDIAN(x)", "a value near the middle one"),
    "QUANTILE_CONT": ("QUANTILE_CONT(x, q)", "a value with about q of the others below it"),
    "PERCENTILE_CONT": (
        "PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)",
        "a value with about q of the others below it",
    ),
    "MODE": ("MODE(x)", "a value among the commonest declared ones"),
}
"""The signature of each aggregate, and its meaning."""

FUNCTIONS = {
    "ABS": ("ABS(x)", "the distance from zero"),
    "ROUND": ("ROUND(x, digits)", "to the nearest, halves away from zero"),
    "FLOOR": ("FLOOR(x)", "the whole number below"),
    "CEIL": ("CEIL(x)", "the whole number above"),
    "LEAST": ("LEAST(x, y, …)", "the smallest of them"),
    "GREATEST": ("GREATEST(x, y, …)", "the largest of them"),
    "CLAMP": ("CLAMP(x, low, high)", "x kept within bounds, so that it can be summed"),
    "COALESCE": ("COALESCE(x, y, …)", "the first that is not NULL"),
    "NULLIF": ("NULLIF(x, y)", "NULL where both are equal"),
    "LOWER": ("LOWER(s)", "in small letters, A to Z alone"),
    "UPPER": ("UPPER(s)", "in capitals, a to z alone"),
    "LENGTH": ("LENGTH(s)", "how many characters"),
    "SUBSTR": ("SUBSTR(s, start, length)", "a part of a text, from place 1"),
    "CAST": ("CAST(x AS type)", "INTEGER, NUMBER, TEXT, BOOLEAN or DATE; NULL where unreadable"),
    "IF": ("IF(condition, x, y)", "x where it is true, y otherwise"),
}
"""The signature of each function, and its meaning."""

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND",
    "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ILIKE", "ESCAPE", "BETWEEN", "CASE", "WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "FILTER", "WITHIN", "ASC", "DESC", "NULLS", "FIRST", "LAST", "TRUE",
    "FALSE", "EXPLAIN", "SHOW", "ALL", "BUDGET", "TABLES", "DESCRIBE", "SET", "WITH",
    "DIFFERENTIAL_PRIVACY", "OPTIONS", "DATE",
)  # fmt: skip
STARTS = {
    "SELECT": "ask a question",
    "EXPLAIN SELECT": "its noise and its price, free",
    "SHOW BUDGET": "what is spent and left",
    "SHOW TABLES": "what can be asked about",
    "SHOW ALL": "the settings",
    "DESCRIBE": "a table's columns",
    "SET": "what each query may spend, and whether repeats are free",
}
"""The words that begin a statement, and what each statement is for."""
