"""Which columns a place in a statement accepts, so that completion offers no others."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.interfaces.shell.vocabulary import AGGREGATES
from dpdb.plan.ranges.group_keys import has_key_values
from dpdb.policy.catalog import Column, Kind

_TEXTUAL = ("LOWER", "UPPER", "LENGTH", "SUBSTR", "LEFT", "RIGHT", "TRIM", "LTRIM", "RTRIM",
            "REPLACE", "POSITION", "STARTS_WITH", "ENDS_WITH", "CONTAINS",
            "SPLIT_PART", "REGEXP_CONTAINS", "REGEXP_LIKE")  # fmt: skip
_DATED = ("EXTRACT", "DATE_PART", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "ISODOW",
          "DAYOFYEAR", "DATE_TRUNC", "LAST_DAY", "DATE_DIFF", "DATE_ADD", "DATE_SUB", "EPOCH",
          "UNIX_SECONDS", "TIMESTAMP_TRUNC", "TIMESTAMP_DIFF", "TIMESTAMP_ADD",
          "TIMESTAMP_SUB", "TIME_BUCKET", "DAYNAME", "MONTHNAME", "STRFTIME", "FORMAT_DATE",
          "TO_CHAR")  # fmt: skip
_TIMED = ("HOUR", "MINUTE", "SECOND")
_NUMERIC = ("ABS", "ROUND", "FLOOR", "CEIL", "TRUNC", "SIGN", "MOD", "SQRT", "CBRT", "POWER", "EXP",
            "LN", "LOG", "LOG10", "LOG2", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "ATAN2",
            "DEGREES", "RADIANS", "SAFE_DIVIDE", "VARIANCE", "VAR", "VAR_SAMP", "VAR_POP", "STDDEV",
            "STDEV", "STD", "SD", "STDDEV_SAMP", "STDDEV_POP", "CORR", "COVAR_POP", "COVAR_SAMP",
            "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY",
            "REGR_SXX", "REGR_SYY", "REGR_SXY", "SKEWNESS", "KURTOSIS", "APPROX_BOUNDS",
            "WIDTH_BUCKET", "DIV0", "DIV0NULL")  # fmt: skip
_NUMERIC_OR_BOOLEAN = ("SUM", "HISTOGRAM", "ZEROIFNULL", "NULLIFZERO")
_ORDINAL = ("MIN", "MAX", "MEDIAN", "QUANTILE_CONT", "QUANTILE_DISC", "APPROX_QUANTILE",
            "APPROX_QUANTILES", "APPROX_PERCENTILE", "LEAST", "GREATEST", "CLAMP")  # fmt: skip
_OF_KEYS = ("MODE", "APPROX_TOP_COUNT", "APPROX_TOP_SUM")
"""The aggregates whose argument has declared values."""
_WITHIN_GROUP = ("PERCENTILE_CONT", "PERCENTILE_DISC")
_ORDINAL_OR_BOOLEAN = ("AVG", "MEAN")
_CHOOSING = ("COALESCE", "NULLIF", "IF", "IFF", "NVL", "NVL2", "IFNULL", "DECODE")
"""The functions whose result is one of their arguments, of whatever type."""
_UNBOUNDED = ("COUNT", "COUNT_IF", "APPROX_COUNT_DISTINCT", "REGR_COUNT", "MODE", "MIN", "MAX",
              "APPROX_BOUNDS", "HISTOGRAM")  # fmt: skip
"""The aggregates whose argument needs no bounds."""


def is_accepted(column: Column, calls: Sequence[str]) -> bool:
    """Whether the column can stand in these calls, given by their names, the innermost first."""
    function = next((name for name in calls if name not in _CHOOSING), "")
    if function in _OF_KEYS:
        return calls[0] == function and has_key_values(column)
    if function in _WITHIN_GROUP or not _has_kind(column, function):
        return False
    # What CLAMP bounds needs no bounds of its own.
    aggregate = next((name for name in calls if name in AGGREGATES), None)
    if aggregate in (None, *_UNBOUNDED) or "CLAMP" in calls or column.kind is Kind.BOOLEAN:
        return True
    return column.bounds is not None


def _has_kind(column: Column, function: str) -> bool:
    """Whether the function takes the type of the column; an undeclared one has any type."""
    number = column.guessed or column.kind in (Kind.INTEGER, Kind.NUMBER)
    ordinal = column.guessed or column.kind.ordinal
    if function in _TEXTUAL:
        return column.kind is Kind.TEXT
    if function in _DATED:
        return column.guessed or column.kind.temporal
    if function in _TIMED:
        return column.guessed or column.kind is Kind.TIMESTAMP
    if function in _NUMERIC:
        return number
    if function in _NUMERIC_OR_BOOLEAN:
        return number or column.kind is Kind.BOOLEAN
    if function in _ORDINAL:
        return ordinal
    if function in _ORDINAL_OR_BOOLEAN:
        return ordinal or column.kind is Kind.BOOLEAN
    return True
