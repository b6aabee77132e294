"""The table of functions and aggregates: names, aliases, parameters, results and meanings.

The parser, the binder, the evaluator, completion, help and the manual take from here which names
there are. The table imports no parser, so that the prompt can show it at once.

`("LEFT(s, n) -> text", "the first n characters")` is a function of a text and a constant whole
number. Its name is all that the binder needs; `TEXT_FUNCTIONS` says what it does. A function
without `->` has a case of its own in `sql.scalars`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from dpdb.policy.catalog import Kind


class Takes(Enum):
    """The type of the column that a function is called with."""

    NUMBER = "number"
    NUMBER_OR_BOOLEAN = "number or boolean"
    ORDINAL = "number, date or timestamp"
    ORDINAL_OR_BOOLEAN = "number, date, timestamp or boolean"
    TEXT = "text"
    DATE = "date or timestamp"
    TIMESTAMP = "timestamp"
    KEY = "a column with declared values"
    ANY = "any type"
    CHOICE = "any type; the result is one of the arguments"
    NOTHING = "no column"


class Parameter(NamedTuple):
    """A parameter of a function with `->`."""

    kind: Kind
    constant: bool


_LETTERS = {
    "x": Kind.NUMBER, "y": Kind.NUMBER, "s": Kind.TEXT, "date": Kind.DATE, "ts": Kind.TIMESTAMP,
}  # fmt: skip
"""The types of parameters that are no constants."""
_CALLS = {
    "STRPOS": "position", "LOCATE": "position", "REGEXP_MATCHES": "regexp_contains",
    "PARSE_TIMESTAMP": "strptime",
}  # fmt: skip
"""The names in calls of functions that have another name there."""


class Function(NamedTuple):
    """A function as it is written in SQL."""

    name: str
    parameters: str
    """Separated by commas: `[x]` can be left out, and `…` stands for more of them."""
    meaning: str
    takes: Takes
    bounded: bool = False
    """Whether the argument of an aggregate needs bounds."""
    aliases: tuple[str, ...] = ()
    result: str = ""
    """The type of the values behind `->`, or `x` for that of the argument.

    Behind a `?` a value can be NULL where no argument is.
    """

    @property
    def call(self) -> str:
        """The name in a `Call`."""
        return _CALLS.get(self.name, self.name.lower())

    @property
    def kinds(self) -> list[Parameter]:
        """The parameters of a function with `->`; whole numbers and quoted texts are constant."""
        names = [each.strip("[]") for each in self.parameters.split(", ")]
        return [
            Parameter(_LETTERS[name], constant=False)
            if name in _LETTERS
            else Parameter(Kind.TEXT if name.startswith("'") else Kind.INTEGER, constant=True)
            for name in names
        ]

    def signature(self, name: str = "") -> str:
        """The call as help shows it, under the function's own name or an alias."""
        behind = (
            " WITHIN GROUP (ORDER BY x)" if self.takes is Takes.NOTHING and self.bounded else ""
        )
        return f"{name or self.name}({self.parameters}){behind}"

    def accepts(self, number: int) -> bool:
        """Whether so many arguments fit the parameters."""
        written = self.parameters.split(", ") if self.parameters else []
        least = sum(each != "…" and not each.startswith("[") for each in written)
        return least <= number and ("…" in written or number <= len(written))


Row = tuple[str, str] | tuple[str, str, str]
"""A signature, perhaps with a result, a meaning, and the aliases between spaces."""

_FUNCTIONS: dict[Takes, tuple[Row, ...]] = {
    Takes.NUMBER: (
        ("ABS(x) -> x", "the distance from zero"),
        ("ROUND(x, [digits])", "to the nearest, halves away from zero"),
        ("FLOOR(x) -> integer", "the whole number below"),
        ("CEIL(x) -> integer", "the whole number above", "CEILING"),
        ("TRUNC(x) -> integer", "without the digits after the point", "TRUNCATE"),
        ("SIGN(x) -> integer", "-1, 0 or 1", "SIGNUM"),
        ("MOD(x, y)", "the remainder of a division, x % y"),
        ("SQRT(x) -> number?", "the square root"),
        ("CBRT(x) -> number", "the cube root"),
        ("POWER(x, y) -> number?", "x to the power y", "POW"),
        ("EXP(x) -> number?", "e to the power x"),
        ("LN(x) -> number?", "the natural logarithm"),
        ("LOG([b], x)", "the logarithm to the base 10, or to the base b"),
        ("LOG10(x) -> number?", "the logarithm to the base 10"),
        ("LOG2(x) -> number?", "the logarithm to the base 2"),
        ("SIN(x) -> number", "the sine of an angle in radians"),
        ("COS(x) -> number", "the cosine"),
        ("TAN(x) -> number", "the tangent"),
        ("ASIN(x) -> number?", "the angle with this sine"),
        ("ACOS(x) -> number?", "the angle with this cosine"),
        ("ATAN([y], x)", "the angle with this tangent, or ATAN2"),
        ("ATAN2(y, x) -> number", "the angle of the point (x, y)"),
        ("DEGREES(x)", "an angle in radians as degrees"),
        ("RADIANS(x)", "an angle in degrees as radians"),
        ("SAFE_ADD(x, y)", "x + y"),
        ("SAFE_SUBTRACT(x, y)", "x - y"),
        ("SAFE_MULTIPLY(x, y)", "x * y"),
        ("SAFE_NEGATE(x)", "-x"),
        ("SAFE_DIVIDE(x, y)", "x / y"),
        ("DIV0(x, y)", "x / y, and 0 where y is 0"),
        ("DIV0NULL(x, y)", "x / y, and 0 where y is 0 or NULL"),
        ("WIDTH_BUCKET(x, low, high, n)", "in which of n equal parts; 0 below"),
    ),
    Takes.NOTHING: (("PI()", "half a turn, 3.14159…"),),
    Takes.ORDINAL: (
        ("LEAST(x, …)", "the smallest of the arguments"),
        ("GREATEST(x, …)", "the largest of the arguments"),
        ("CLAMP(x, low, high)", "x kept within bounds, so that it can be summed"),
    ),
    Takes.NUMBER_OR_BOOLEAN: (
        ("ZEROIFNULL(x)", "COALESCE(x, 0)"),
        ("NULLIFZERO(x)", "NULLIF(x, 0)"),
    ),
    Takes.CHOICE: (
        ("COALESCE(x, …)", "the first argument that is not NULL", "IFNULL NVL"),
        ("NULLIF(x, y)", "x, and NULL where both are equal"),
        ("NVL2(x, y, [z])", "y where x is not NULL, z otherwise"),
        ("IF(condition, x, [y])", "x where the condition is true, y otherwise", "IFF IIF"),
        ("DECODE(x, value, result, …, [default])", "CASE x, where NULL finds NULL"),
    ),
    Takes.ANY: (
        ("CAST(x AS type)", "INTEGER, NUMBER, TEXT, BOOLEAN, DATE, TIMESTAMP; else NULL",
         "TRY_CAST SAFE_CAST"),
        ("EQUAL_NULL(x, y)", "x IS NOT DISTINCT FROM y"),
        ("CONCAT(s, …)", "joined; NULLs are left out"),
    ),
    Takes.TEXT: (
        ("LOWER(s) -> text", "in small letters, A to Z alone", "LCASE"),
        ("UPPER(s) -> text", "in capitals, a to z alone", "UCASE"),
        ("LENGTH(s) -> integer", "how many characters", "LEN CHAR_LENGTH CHARACTER_LENGTH"),
        ("SUBSTR(s, start, [length]) -> text", "a part of a text, from place 1", "SUBSTRING"),
        ("LEFT(s, n) -> text", "the first n characters; for -n all but the last n"),
        ("RIGHT(s, n) -> text", "the last n characters; for -n all but the first n"),
        ("TRIM(s, ['xy']) -> text", "without the blanks at both ends, or without x and y"),
        ("LTRIM(s, ['xy']) -> text", "without the blanks at the start, or without x and y"),
        ("RTRIM(s, ['xy']) -> text", "without the blanks at the end, or without x and y"),
        ("REPLACE(s, 'old', 'new') -> text?", "with every old replaced by new"),
        ("POSITION('part' IN s)", "where the part begins, 0 if nowhere"),
        ("STRPOS(s, 'part') -> integer", "where the part begins, 0 if nowhere", "INSTR"),
        ("LOCATE('part', s) -> integer", "where the part begins, 0 if nowhere", "CHARINDEX"),
        ("STARTS_WITH(s, 'part') -> boolean", "whether a text begins so", "STARTSWITH"),
        ("ENDS_WITH(s, 'part') -> boolean", "whether a text ends so", "ENDSWITH"),
        ("CONTAINS(s, 'part') -> boolean", "whether the part is in a text"),
        ("SPLIT_PART(s, '-', n) -> text", "the part number n between dashes"),
        ("REGEXP_MATCHES(s, 'pattern') -> boolean", "whether a part of a text matches",
         "REGEXP_CONTAINS REGEXP_LIKE"),
        ("STRPTIME(s, '%d.%m.%Y') -> timestamp?", "the time that a text writes in this format",
         "TRY_STRPTIME"),
        ("PARSE_DATE('%d.%m.%Y', s) -> date?", "the date that a text writes in this format"),
        ("PARSE_TIMESTAMP('%d.%m.%Y', s) -> timestamp?", "STRPTIME"),
    ),
    Takes.DATE: (
        ("EXTRACT(part FROM date)", "YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, DOW, EPOCH, …"),
        ("DATE_PART('part', date)", "EXTRACT"),
        ("YEAR(date) -> integer?", "the year"),
        ("QUARTER(date) -> integer?", "1 to 4"),
        ("MONTH(date) -> integer?", "1 to 12"),
        ("WEEK(date) -> integer?", "the week of ISO 8601, 1 to 53"),
        ("DAY(date) -> integer?", "1 to 31"),
        ("DAYOFWEEK(date) -> integer?", "0 on Sunday to 6", "DAY_OF_WEEK"),
        ("ISODOW(date) -> integer?", "1 on Monday to 7", "DAYOFWEEK_ISO"),
        ("DAYOFYEAR(date) -> integer?", "1 to 366", "DAY_OF_YEAR"),
        ("EPOCH(ts)", "the seconds since 1970, with decimals"),
        ("UNIX_SECONDS(ts)", "the whole seconds since 1970"),
        ("DATE_TRUNC('unit', date)", "when the year, quarter, month, week, … began",
         "TIMESTAMP_TRUNC DATETIME_TRUNC"),
        ("TIME_BUCKET(INTERVAL 1 MONTH, date)", "DATE_TRUNC"),
        ("LAST_DAY(date)", "the last day of the month", "LAST_DAY_OF_MONTH"),
        ("DATE_DIFF('unit', start, end)", "how often a unit begins between two dates",
         "DATEDIFF DATETIME_DIFF"),
        ("TIMESTAMP_DIFF(end, start, unit)", "how many whole units are between two timestamps"),
        ("DATE_ADD(date, INTERVAL 1 MONTH)", "date + INTERVAL 1 MONTH, a later date",
         "TIMESTAMP_ADD DATETIME_ADD"),
        ("DATE_SUB(date, INTERVAL 1 MONTH)", "date - INTERVAL 1 MONTH, an earlier date",
         "TIMESTAMP_SUB DATETIME_SUB"),
        ("DATEADD(unit, n, date)", "DATE_ADD"),
        ("DATE(ts)", "the day of a timestamp, or of a text"),
        ("TIMESTAMP(date)", "the midnight of a date, or the time in a text", "DATETIME"),
        ("DAYNAME(date)", "Monday to Sunday"),
        ("MONTHNAME(date)", "January to December"),
        ("STRFTIME(date, '%Y-%m')", "a date, or a part of a date, as a text"),
        ("FORMAT_DATE('%Y-%m', date)", "STRFTIME"),
        ("TO_CHAR(date, 'YYYY-MM')", "STRFTIME"),
    ),
    Takes.TIMESTAMP: (
        ("HOUR(ts) -> integer?", "0 to 23"),
        ("MINUTE(ts) -> integer?", "0 to 59"),
        ("SECOND(ts) -> integer?", "0 to 59"),
    ),
}  # fmt: skip
_BOUNDED: dict[Takes, tuple[Row, ...]] = {
    Takes.NUMBER_OR_BOOLEAN: (("SUM(x)", "the total; x needs bounds", "ANON_SUM"),),
    Takes.ORDINAL_OR_BOOLEAN: (("AVG(x)", "the mean; x needs bounds", "MEAN ANON_AVG"),),
    Takes.NUMBER: (
        ("VAR_SAMP(x)", "the variance of a sample", "VARIANCE VAR VARIANCE_SAMP VARSAMP"),
        ("VAR_POP(x)", "the variance of a population", "VARIANCE_POP ANON_VAR_POP VARPOP"),
        ("STDDEV_SAMP(x)", "the standard deviation of a sample", "STDDEV STDEV STD SD STDDEVSAMP"),
        ("STDDEV_POP(x)", "the standard deviation of a population", "ANON_STDDEV_POP STDDEVPOP"),
        ("CORR(y, x)", "the correlation, from -1 to 1"),
        ("COVAR_POP(y, x)", "the covariance of a population", "COVAR COVARPOP"),
        ("COVAR_SAMP(y, x)", "the covariance of a sample", "COVARSAMP"),
        ("REGR_SLOPE(y, x)", "the slope of the line of least squares"),
        ("REGR_INTERCEPT(y, x)", "the y of that line at x = 0"),
        ("REGR_R2(y, x)", "CORR(y, x) squared"),
        ("REGR_AVGX(y, x)", "the mean of x"),
        ("REGR_AVGY(y, x)", "the mean of y"),
        ("REGR_SXX(y, x)", "REGR_COUNT times the variance of x"),
        ("REGR_SYY(y, x)", "REGR_COUNT times the variance of y"),
        ("REGR_SXY(y, x)", "REGR_COUNT times the covariance"),
        ("SKEWNESS(x)", "the skewness of a sample", "SKEW"),
        ("GEOMEAN(x)", "the geometric mean; x is above 0", "GEOMETRIC_MEAN"),
        ("KURTOSIS(x)", "the excess kurtosis of a sample"),
    ),
    Takes.ORDINAL: (
        ("MEDIAN(x)", "a value near the middle one"),
        ("MAD(x)", "the median distance from the median, of dates in days"),
        ("QUANTILE_CONT(x, q)", "a value with about q of the others below it",
         "QUANTILE QUANTILE_DISC APPROX_QUANTILE APPROX_PERCENTILE"),
        ("APPROX_QUANTILES(x, n)", "the ends of n equal parts, a column for each",
         "ANON_QUANTILES"),
    ),
    Takes.NOTHING: (
        ("PERCENTILE_CONT(q)", "a value with about q of the others below it",
         "PERCENTILE_DISC ANON_PERCENTILE_CONT"),
    ),
    Takes.KEY: (
        ("APPROX_TOP_SUM(x, y, n)", "the n values with the largest SUM(y), as rows"),
    ),
}  # fmt: skip
_UNBOUNDED: dict[Takes, tuple[Row, ...]] = {
    Takes.ANY: (
        ("COUNT(* | x | DISTINCT x)", "how many rows, values, different values", "ANON_COUNT"),
        ("COUNT_IF(condition)", "how many rows fulfil the condition", "COUNTIF"),
        ("APPROX_COUNT_DISTINCT(x)", "COUNT(DISTINCT x)", "APPROX_DISTINCT"),
    ),
    Takes.ORDINAL: (
        ("MIN(x)", "a value near the smallest"),
        ("MAX(x)", "a value near the largest"),
    ),
    Takes.KEY: (
        ("MODE(x, [weight])", "a value among the commonest declared ones, or of most weight"),
        ("ENTROPY(x)", "the bits of information in a declared value"),
        ("APPROX_TOP_COUNT(x, n)", "the n commonest declared values, as rows", "APPROX_TOP_K"),
    ),
    Takes.NUMBER: (
        ("REGR_COUNT(y, x)", "how many rows have both"),
        ("APPROX_BOUNDS(x)", "bounds for x, where nobody knows any"),
    ),
    Takes.NUMBER_OR_BOOLEAN: (
        ("HISTOGRAM(x, [low, …, high])", "how many in each bin, a column for each"),
    ),
}  # fmt: skip


def _read(rows: Mapping[Takes, tuple[Row, ...]], *, bounded: bool) -> Iterator[Function]:
    for takes, listed in rows.items():
        for signature, meaning, *aliases in listed:
            written, _, result = signature.partition(" -> ")
            name, _, parameters = written[:-1].partition("(")
            named = tuple(" ".join(aliases).split())
            yield Function(name, parameters, meaning, takes, bounded, named, result)


def _by_name(functions: Iterator[Function]) -> dict[str, Function]:
    return {name: each for each in functions for name in (each.name, *each.aliases)}


FUNCTIONS = _by_name(_read(_FUNCTIONS, bounded=False))
"""The functions of a row, by their names and aliases."""
AGGREGATES = _by_name(
    each
    for rows, bounded in ((_UNBOUNDED, False), (_BOUNDED, True))
    for each in _read(rows, bounded=bounded)
)
"""The aggregates, by their names and aliases."""

_PLAIN = [each for each in FUNCTIONS.values() if each.result]
TEXT_CALLS = frozenset(each.call for each in _PLAIN if each.takes is Takes.TEXT)
"""The calls of a text and constants, as `text_functions` evaluates them."""
MAY_BE_NULL = frozenset((
    *(each.call for each in _PLAIN if each.result.endswith("?")),
    "nullif", "concat", "months_later", "timestamp_months_later", "elapsed",
))  # fmt: skip
"""The calls that can be NULL where no argument is."""
CALLS = frozenset((
    *(each.call for each in _PLAIN),
    "coalesce", "concat", "nullif", "least", "greatest", "clamp", "round", "atan", "quarter_index",
    "month_index", "week_index", "hour_index", "minute_index", "second_index",
    "millisecond_index", "microsecond_index", "date_trunc", "months_later", "timestamp_trunc",
    "timestamp_months_later", "elapsed", "tuple",
))  # fmt: skip
"""The names of all calls; `vectors.functions.MEANINGS` evaluates each of them."""
