"""Types of expressions: which fit together, and how undeclared columns get one.

An undeclared column is read as text, or as the type that its place in the query needs.
"""

from __future__ import annotations

import datetime
from fractions import Fraction

from dpdb.errors import Place, TypeMismatch
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
    compare,
    is_null_constant,
    logic,
)
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import days_of, iso_date
from dpdb.policy.timestamps import FIRST_YEAR, LAST_YEAR, read_timestamp
from dpdb.sql.syntax.literals import MAX_NUMBER

CONDITIONS = (Compare, InList, IsNull, Like, Logic, Not)
"""The expressions that are boolean and nothing else."""


_CONVERSIONS = {
    (Kind.NUMBER, Kind.TEXT): "CAST(s AS DOUBLE) reads a number",
    (Kind.NUMBER, Kind.BOOLEAN): "CAST(b AS INTEGER) is 1 or 0",
    (Kind.NUMBER, Kind.DATE): "YEAR(d) is a number, and so is d - DATE '2020-01-01'",
    (Kind.NUMBER, Kind.TIMESTAMP): "EXTRACT(EPOCH FROM ts) is a number",
    **{(Kind.TEXT, kind): "CAST(x AS TEXT) is a text" for kind in Kind},
    **{(Kind.BOOLEAN, kind): "x > 0 is true or false" for kind in Kind},
    **{(Kind.DATE, kind): "CAST(s AS DATE) reads a date" for kind in Kind},
    **{(Kind.TIMESTAMP, kind): "CAST(s AS TIMESTAMP) reads a timestamp" for kind in Kind},
}
"""Hints by the type that is needed and the type that is there."""


def numeric(expression: Expr, place: Place | None, *, dates: bool = False) -> Expr:
    """`expression` as a number; with `dates`, a date or timestamp will do as well."""
    match expression:
        case Literal(value=None):
            return Literal(None, Kind.NUMBER)
        case ColumnRef(column=column) if column.guessed:
            return Cast(expression, Kind.NUMBER)
    fits = expression.kind.ordinal and (dates or not expression.kind.temporal)
    if not fits:
        hint = _CONVERSIONS[Kind.NUMBER, expression.kind]
        raise TypeMismatch(
            f"a number is needed here, not {expression.kind}", hint=hint, place=place
        )
    return expression


def of_kind(expression: Expr, kind: Kind, place: Place | None) -> Expr:
    """`expression` at the type `kind`, which NULL and undeclared columns take on."""
    match expression:
        case Literal(value=None):
            return Literal(None, kind)
        case Literal(value=str(text), kind=Kind.TEXT) if kind is Kind.DATE:
            return _date_literal(text, place)
        case Literal(value=str(text), kind=Kind.TEXT) if kind is Kind.TIMESTAMP:
            return timestamp_literal(text, place)
        case Literal(value=int(days), kind=Kind.DATE) if kind is Kind.TIMESTAMP:
            return timestamp_literal(iso_date(days), place)
        case ColumnRef(column=column) if column.guessed and kind is not Kind.TEXT:
            return Cast(expression, Kind.NUMBER if kind is Kind.INTEGER else kind)
    if expression.kind is Kind.DATE and kind is Kind.TIMESTAMP:
        return Cast(expression, kind)
    if expression.kind is not kind:
        hint = _CONVERSIONS.get((kind, expression.kind))
        raise TypeMismatch(
            f"a {kind} is needed here, not {expression.kind}", hint=hint, place=place
        )
    return expression


def temporal(expression: Expr, place: Place | None) -> Expr:
    """`expression` as a date, unless it is a timestamp."""
    if expression.kind is Kind.TIMESTAMP:
        return expression
    return of_kind(expression, Kind.DATE, place)


def day(expression: Expr, place: Place | None) -> Expr:
    """The date that `expression` is, or on which a timestamp is."""
    moment = temporal(expression, place)
    return Cast(moment, Kind.DATE) if moment.kind is Kind.TIMESTAMP else moment


def joined(expressions: list[Expr], place: Place | None) -> list[Expr]:
    """The operands of `||` as texts, with constants beside each other as one.

    One of them has to be a text, as in PostgreSQL. Numbers with decimals are written differently
    by each system, so they are not converted by themselves.
    """
    if not any(e.kind is Kind.TEXT for e in expressions):
        raise TypeMismatch("|| joins texts", hint="CAST(x AS TEXT) makes one", place=place)
    if any(e.kind is Kind.NUMBER for e in expressions):
        raise TypeMismatch(
            "|| joins texts, whole numbers, dates, timestamps and booleans",
            hint="CAST(x AS TEXT) makes a text of a number",
            place=place,
        )
    texts: list[Expr] = []
    for e in expressions:
        match texts[-1:], e:
            case [Literal(value=str(before))], Literal(value=str(after), kind=Kind.TEXT):
                texts[-1] = Literal(before + after, Kind.TEXT)
            case _:
                texts.append(e if e.kind is Kind.TEXT else Cast(e, Kind.TEXT))
    return texts


def concatenation(expressions: list[Expr], place: Place | None) -> Expr:
    """The operands of `||` joined."""
    texts = joined(expressions, place)
    return Call("concat", tuple(texts), Kind.TEXT) if texts[1:] else texts[0]


def of_several(expressions: list[Expr]) -> Expr:
    """The tuple of several values, to be counted; it is never NULL."""
    texts = (e if e.kind is Kind.TEXT else Cast(e, Kind.TEXT) for e in expressions)
    return Call("tuple", tuple(texts), Kind.TEXT)


def unify(expressions: list[Expr], place: Place | None) -> tuple[list[Expr], Kind]:
    """The expressions converted to one common type, and that type."""
    expressions = _truths(expressions)
    firm = [e.kind for e in expressions if not _loose(e)]
    kinds = set(firm) or {e.kind for e in expressions if not is_null_constant(e)} or {Kind.TEXT}
    if kinds & {Kind.DATE, Kind.TIMESTAMP}:
        # A string beside a date is a date: people write WHERE born < '1990-01-01'.
        literal = all(isinstance(e, Literal) for e in expressions if e.kind is Kind.TEXT)
        kinds -= {Kind.TEXT} if literal else set()
    if Kind.TIMESTAMP in kinds:
        kinds -= {Kind.DATE}  # Beside a timestamp a date is its midnight.
    if kinds <= {Kind.INTEGER, Kind.NUMBER}:
        unified = [e if is_null_constant(e) else numeric(e, place) for e in expressions]
        whole = all(e.kind is Kind.INTEGER for e in unified if not is_null_constant(e))
        common = Kind.INTEGER if whole else Kind.NUMBER
        return [Literal(None, common) if is_null_constant(e) else e for e in unified], common
    if len(kinds) > 1:
        names = " and ".join(sorted(kinds))
        quoted = Kind.TEXT in kinds and any(isinstance(e, Literal) for e in expressions)
        hint = "CAST gives both sides the same type, as in CAST(x AS TEXT)"
        hint = "texts stand in quotes; numbers, TRUE and FALSE do not" if quoted else hint
        raise TypeMismatch(f"{names} do not mix", hint=hint, place=place)
    common = kinds.pop()
    return [of_kind(e, common, place) for e in expressions], common


def comparable(expressions: list[Expr], place: Place | None) -> list[Expr]:
    """The expressions at one type, to be compared: the constants 30 and 30.0 are the same."""
    unified, _ = unify(expressions, place)
    return [
        Literal(int(e.value), Kind.INTEGER)
        if isinstance(e, Literal) and isinstance(e.value, Fraction) and e.value.denominator == 1
        else e
        for e in unified
    ]


def _truths(expressions: list[Expr]) -> list[Expr]:
    """The expressions, with the constants 1 and 0 read as true and false beside a boolean."""
    if not any(e.kind is Kind.BOOLEAN for e in expressions):
        return expressions
    return [
        Literal(bool(e.value), Kind.BOOLEAN)
        if isinstance(e, Literal) and e.kind is Kind.INTEGER and e.value in (0, 1)
        else e
        for e in expressions
    ]


def _loose(expression: Expr) -> bool:
    """Whether the expression takes the type of the others: NULL and undeclared columns do."""
    return is_null_constant(expression) or (
        isinstance(expression, ColumnRef) and expression.column.guessed
    )


def _date_literal(text: str, place: Place | None) -> Literal:
    """The date that `text` writes, as days from 1970-01-01."""
    try:
        day = datetime.datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise TypeMismatch(
            f"'{text}' is not a date", hint="write YYYY-MM-DD", place=place
        ) from None
    return Literal(days_of(day), Kind.DATE)


def timestamp_literal(text: str, place: Place | None) -> Literal:
    """The timestamp that `text` writes, as microseconds from 1970-01-01 00:00 UTC."""
    moment = read_timestamp(text)
    if moment is None:
        raise TypeMismatch(
            f"'{text}' is not a timestamp",
            hint=f"write YYYY-MM-DD HH:MM:SS, in the years {FIRST_YEAR} to {LAST_YEAR}, in UTC or"
            " with an offset such as +02:00",
            place=place,
        )
    return Literal(moment, Kind.TIMESTAMP)


def alike(sides: list[Expr], place: Place | None) -> Expr:
    """Whether two values are the same, or both NULL; it is never NULL."""
    first, second = comparable(sides, place)
    false = Literal(False, Kind.BOOLEAN)
    equal = Call("coalesce", (compare("=", first, second), false), Kind.BOOLEAN)
    return logic("or", [equal, logic("and", [IsNull(first), IsNull(second)])])


def case(branches: list[tuple[Expr, Expr]], default: Expr, place: Place | None) -> Case:
    """A CASE with its results at one common type."""
    results, kind = unify([*(value for _, value in branches), default], place)
    conditions = [of_kind(condition, Kind.BOOLEAN, place) for condition, _ in branches]
    return Case(tuple(zip(conditions, results[:-1], strict=True)), results[-1], kind)


def whole_division(left: Expr, right: Expr, where: Place | None) -> Expr:
    """The quotient of two whole numbers towards 0, as in DuckDB.

    A double is exact enough: if n < 2^53 is no multiple of m, n / m is never rounded to a whole
    number, as the nearest one is 1 / m away or more.
    """
    left, right = numeric(left, where), numeric(right, where)
    if not left.kind is right.kind is Kind.INTEGER:
        hint = "FLOOR(x / z) is a whole number, and x / z the quotient"
        raise TypeMismatch("// divides whole numbers", hint=hint, place=where)
    quotient = Arithmetic("/", left, right, Kind.NUMBER)
    return Call("trunc", (quotient,), Kind.INTEGER)


def arithmetic(operator: str, left: Expr, right: Expr, where: Place | None) -> Expr:
    """An operation on numbers; sums, differences and products of decimals in the text are exact.

    In doubles 0.06 + 0.01 is less than 0.07, which standard SQL does not mean.
    """
    left, right = numeric(left, where), numeric(right, where)
    whole = operator != "/" and left.kind is right.kind is Kind.INTEGER
    exact = None if whole else _exact(operator, left, right)
    if exact is not None and abs(exact) <= MAX_NUMBER and exact.denominator <= MAX_NUMBER:
        return Literal(exact, Kind.NUMBER)
    return Arithmetic(operator, left, right, Kind.INTEGER if whole else Kind.NUMBER)


def _exact(operator: str, left: Expr, right: Expr) -> Fraction | None:
    match left, right:
        case Literal(value=int() | Fraction() as one), Literal(value=int() | Fraction() as other):
            match operator:
                case "+":
                    return Fraction(one + other)
                case "-":
                    return Fraction(one - other)
                case "*":
                    return Fraction(one * other)
    return None


def date_arithmetic(operator: str, left: Expr, right: Expr, where: Place | None) -> Expr:
    """A difference of two dates in days, or a date so many days later or earlier."""
    if Kind.TIMESTAMP in (left.kind, right.kind):
        raise TypeMismatch(
            "what is added to a timestamp, or taken from it, is an INTERVAL",
            hint="ts + INTERVAL 2 HOUR, or for two DATE_DIFF('second', start, end)",
            place=where,
        )
    match operator, left.kind, right.kind:
        case "-", Kind.DATE, Kind.DATE:
            return Arithmetic("-", left, right, Kind.INTEGER)
        case ("+", Kind.DATE, Kind.INTEGER) | ("-", Kind.DATE, Kind.INTEGER):
            return Arithmetic(operator, left, right, Kind.DATE)
        case "+", Kind.INTEGER, Kind.DATE:
            return Arithmetic("+", left, right, Kind.DATE)
    raise TypeMismatch("only days can be added to a date", place=where)
