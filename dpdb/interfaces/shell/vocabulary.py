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
    "APPROX_BOUNDS": ("APPROX_BOUNDS(x)", "bounds for x, where nobody knows any"),
}
"""The signature of each aggregate, and its meaning."""

FUNCTIONS = {
    "ABS": ("ABS(x)", "the distance from zero"),
    "ROUND": ("ROUND(x, digits)", "to the nearest, halves away from zero"),
    "FLOOR": ("FLOOR(x)", "the whole number below"),
    "CEIL": ("CEIL(x)", "the whole number above"),
    "TRUNC": ("TRUNC(x)", "without the digits after the point"),
    "SIGN": ("SIGN(x)", "-1, 0 or 1"),
    "MOD": ("MOD(x, y)", "the remainder of a division, x % y"),
    "SQRT": ("SQRT(x)", "the square root"),
    "CBRT": ("CBRT(x)", "the cube root"),
    "POWER": ("POWER(x, y)", "x to the power y"),
    "EXP": ("EXP(x)", "e to the power x"),
    "LN": ("LN(x)", "the natural logarithm"),
    "LOG": ("LOG(x)", "the logarithm to the base 10; LOG(b, x) to the base b"),
    "LOG10": ("LOG10(x)", "the logarithm to the base 10"),
    "LOG2": ("LOG2(x)", "the logarithm to the base 2"),
    "PI": ("PI()", "half a turn, 3.14159…"),
    "SIN": ("SIN(x)", "the sine of an angle in radians"),
    "COS": ("COS(x)", "the cosine"),
    "TAN": ("TAN(x)", "the tangent"),
    "ASIN": ("ASIN(x)", "the angle with this sine"),
    "ACOS": ("ACOS(x)", "the angle with this cosine"),
    "ATAN": ("ATAN(x)", "the angle with this tangent"),
    "ATAN2": ("ATAN2(y, x)", "the angle of the point (x, y)"),
    "DEGREES": ("DEGREES(x)", "an angle in radians as degrees"),
    "RADIANS": ("RADIANS(x)", "an angle in degrees as radians"),
    "SAFE_DIVIDE": ("SAFE_DIVIDE(x, y)", "x / y"),
    "LEAST": ("LEAST(x, y, …)", "the smallest of them"),
    "GREATEST": ("GREATEST(x, y, …)", "the largest of them"),
    "CLAMP": ("CLAMP(x, low, high)", "x kept within bounds, so that it can be summed"),
    "COALESCE": ("COALESCE(x, y, …)", "the first that is not NULL"),
    "NULLIF": ("NULLIF(x, y)", "NULL where both are equal"),
    "IF": ("IF(condition, x, y)", "x where it is true, y otherwise"),
    "CAST": ("CAST(x AS type)", "INTEGER, NUMBER, TEXT, BOOLEAN or DATE; NULL where unreadable"),
    "LOWER": ("LOWER(s)", "in small letters, A to Z alone"),
    "UPPER": ("UPPER(s)", "in capitals, a to z alone"),
    "LENGTH": ("LENGTH(s)", "how many characters"),
    "SUBSTR": ("SUBSTR(s, start, length)", "a part of a text, from place 1"),
    "LEFT": ("LEFT(s, n)", "the first n characters; for -n all but the last n"),
    "RIGHT": ("RIGHT(s, n)", "the last n characters; for -n all but the first n"),
    "TRIM": ("TRIM(s)", "without the blanks at both ends; TRIM(s, 'xy') without x and y"),
    "LTRIM": ("LTRIM(s)", "without the blanks at the start"),
    "RTRIM": ("RTRIM(s)", "without the blanks at the end"),
    "CONCAT": ("CONCAT(s, t, …)", "joined; NULLs are left out"),
    "REPLACE": ("REPLACE(s, 'old', 'new')", "with every old replaced by new"),
    "POSITION": ("POSITION('part' IN s)", "where the part begins, 0 if nowhere"),
    "STARTS_WITH": ("STARTS_WITH(s, 'part')", "whether it begins so"),
    "ENDS_WITH": ("ENDS_WITH(s, 'part')", "whether it ends so"),
    "CONTAINS": ("CONTAINS(s, 'part')", "whether the part is in it"),
    "SPLIT_PART": ("SPLIT_PART(s, '-', n)", "the part number n between dashes"),
    "EXTRACT": ("EXTRACT(part FROM date)", "YEAR, QUARTER, MONTH, WEEK, DAY, DOW, ISODOW or DOY"),
    "DATE_PART": ("DATE_PART('part', date)", "EXTRACT"),
    "YEAR": ("YEAR(date)", "the year"),
    "QUARTER": ("QUARTER(date)", "1 to 4"),
    "MONTH": ("MONTH(date)", "1 to 12"),
    "WEEK": ("WEEK(date)", "the week of ISO 8601, 1 to 53"),
    "DAY": ("DAY(date)", "1 to 31"),
    "DAYOFWEEK": ("DAYOFWEEK(date)", "0 on Sunday to 6"),
    "ISODOW": ("ISODOW(date)", "1 on Monday to 7"),
    "DAYOFYEAR": ("DAYOFYEAR(date)", "1 to 366"),
    "DATE_TRUNC": ("DATE_TRUNC('unit', date)", "the first day of its year, quarter, month or week"),
    "LAST_DAY": ("LAST_DAY(date)", "the last day of its month"),
    "DATE_DIFF": ("DATE_DIFF('unit', start, end)", "how often a unit begins between two dates"),
    "DATE_ADD": ("DATE_ADD(date, INTERVAL n unit)", "date + INTERVAL n unit, a later date"),
    "DATE_SUB": ("DATE_SUB(date, INTERVAL n unit)", "date - INTERVAL n unit, an earlier date"),
}
"""The signature of each function, and its meaning."""

NAMED_ARGUMENTS = {
    "contribution_bounds_per_row": ("=> (low, high)", "each row is clamped, as by CLAMP"),
    "contribution_bounds_per_group": ("=> (low, high)", "what a unit adds in a group is clamped"),
}
"""What follows the name of each named argument of aggregates, and its meaning."""

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND",
    "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ILIKE", "ESCAPE", "BETWEEN", "CASE", "WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "FILTER", "WITHIN", "ASC", "DESC", "NULLS", "FIRST", "LAST", "TRUE",
    "FALSE", "EXPLAIN", "SHOW", "ALL", "BUDGET", "HISTORY", "TABLES", "DESCRIBE", "SET", "WITH",
    "DIFFERENTIAL_PRIVACY", "OPTIONS", "DATE", "ANONYMIZATION", "CLAMPED",
    "CONTRIBUTION_BOUNDS_PER_ROW", "CONTRIBUTION_BOUNDS_PER_GROUP",
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
