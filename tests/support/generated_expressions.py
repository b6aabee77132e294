"""Strategies of expressions: each makes pairs, of dpdb's text and DuckDB's."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.two_engines import Pair, number_leaves

Pairs = st.SearchStrategy[Pair]


def join(shape: str, *parts: Pair, duck: str | None = None) -> Pair:
    ours = shape.format(*(part[0] for part in parts))
    return ours, (duck or shape).format(*(part[1] for part in parts))


# A bare NULL has no type of its own; these do.
NULL_NUMBER = ("NULLIF(1, 1)", "NULL::DOUBLE")
NULL_TEXT = ("NULLIF('a', 'a')", "NULL::TEXT")
NULL_TRUTH = ("NULLIF(TRUE, TRUE)", "NULL::BOOLEAN")
text_leaves = st.one_of(
    st.sampled_from([("t", "t"), ("s", "s")]),
    st.sampled_from(["a", "b", "abc", "x_y", "10%", "", "É", "it''s"]).map(
        lambda text: (f"'{text}'",) * 2
    ),
)
date_leaves = st.sampled_from(
    [("d", "d"), ("e", "e"), ("DATE '2000-02-29'",) * 2, ("DATE '1970-01-01'",) * 2]
)
moment_leaves = st.sampled_from(
    [("p", "p"), ("q", "q"), ("TIMESTAMP '2000-02-29 23:59:59.5'",) * 2,
     ("TIMESTAMP '1970-01-01'",) * 2]
)  # fmt: skip
truth_leaves = st.sampled_from([("b", "b"), ("c", "c"), ("TRUE", "TRUE"), ("FALSE", "FALSE")])
patterns = st.text(st.sampled_from("ab%_é!c1"), max_size=6)


def like(text: Pair, pattern: str, negated: bool) -> Pair:
    word = "NOT LIKE" if negated else "LIKE"
    return join("({0} " + word + f" '{pattern}')", text)


def members(operand: Pair, items: list[Pair], negated: bool) -> Pair:
    word = "NOT IN" if negated else "IN"
    ours = ", ".join(item[0] for item in items)
    theirs = ", ".join(item[1] for item in items)
    return f"({operand[0]} {word} ({ours}))", f"({operand[1]} {word} ({theirs}))"


def made(shape: str, *parts: Pairs, duck: str | None = None) -> Pairs:
    return st.builds(lambda *chosen: join(shape, *chosen, duck=duck), *parts)


def numbers(number, text, date, truth, moment):
    return st.one_of(
        made("({0} + {1})", number, number),
        made("({0} - {1})", number, number),
        made("({0} * {1})", number, number),
        made("({0} / {1})", number, number, duck="({0} / NULLIF({1}, 0))"),
        made("({0} % {1})", number, number, duck="({0} % NULLIF({1}, 0))"),
        made("(-{0})", number, duck="(0 - {0})"),
        made("ABS({0})", number),
        made("FLOOR({0})", number),
        made("CEIL({0})", number),
        st.integers(-2, 3).flatmap(lambda digits: made(f"ROUND({{0}}, {digits})", number)),
        made("LEAST({0}, {1}, {2})", number, number, number),
        made("GREATEST({0}, {1})", number, number),
        made("COALESCE({0}, {1})", number, number),
        made("NULLIF({0}, {1})", number, number),
        made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, number, number),
        made("CASE WHEN {0} THEN {1} END", truth, number),
        made("CASE {0} WHEN {1} THEN {2} ELSE {3} END", text, text, number, number),
        made("LENGTH({0})", text, duck="length({0})::DOUBLE"),
        made("SIGN({0})", number, duck="sign({0})::DOUBLE"),
        made("TRUNC({0})", number),
        made("POSITION('b' IN {0})", text, duck="strpos({0}, 'b')::DOUBLE"),
        st.sampled_from(["YEAR", "QUARTER", "MONTH", "WEEK", "ISODOW", "DAYOFYEAR"]).flatmap(
            lambda part: made(part + "({0})", date, duck=part + "({0})::DOUBLE")
        ),
        made(
            "DATE_DIFF('month', {0}, {1})", date, date, duck="date_diff('month', {0}, {1})::DOUBLE"
        ),
        made("({0} - {1})", date, date, duck="({0} - {1})::DOUBLE"),
        st.sampled_from(["YEAR", "HOUR", "MINUTE", "SECOND", "WEEK"]).flatmap(
            lambda part: made(part + "({0})", moment, duck=part + "({0})::DOUBLE")
        ),
        st.sampled_from(["month", "day", "hour", "second"]).flatmap(
            lambda unit: made(
                f"DATE_DIFF('{unit}', {{0}}, {{1}})",
                moment,
                moment,
                duck=f"date_diff('{unit}', {{0}}, {{1}})::DOUBLE",
            )
        ),
        made("EPOCH({0})", moment),
        made("CAST({0} AS INTEGER)", truth, duck="{0}::INT::DOUBLE"),
        made("CAST({0} AS INTEGER)", number, duck="round_even({0}, 0)"),
    )


def texts(number, text, date, truth, moment):
    return st.one_of(
        made("LOWER({0})", text, duck="ascii_lower({0})"),
        made("UPPER({0})", text, duck="ascii_upper({0})"),
        st.tuples(st.integers(1, 4), st.integers(0, 4)).flatmap(
            lambda place: made(f"SUBSTR({{0}}, {place[0]}, {place[1]})", text)
        ),
        st.sampled_from(
            ["TRIM({0})", "LEFT({0}, 2)", "RIGHT({0}, 2)", "SPLIT_PART({0}, 'b', 2)"]
        ).flatmap(lambda shape: made(shape, text)),
        made("COALESCE({0}, {1})", text, text),
        made("NULLIF({0}, {1})", text, text),
        made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, text, text),
        made("({0} || {1} || {2})", text, date, text),
        made("CAST({0} AS TEXT)", moment),
        made("CAST({0} AS TEXT)", truth),
        made("CAST({0} AS TEXT)", date),
    )


def dates(number, text, date, truth, moment):
    return st.one_of(
        st.integers(-400, 400).flatmap(lambda days: made(f"({{0}} + {days})", date)),
        st.sampled_from(["year", "quarter", "month", "week"]).flatmap(
            lambda unit: made(
                f"DATE_TRUNC('{unit}', {{0}})", date, duck=f"DATE_TRUNC('{unit}', {{0}})::DATE"
            )
        ),
        made("COALESCE({0}, {1})", date, date),
        made("GREATEST({0}, {1})", date, date),
        made("NULLIF({0}, {1})", date, date),
        made("IF({0}, {1}, {2})", truth, date, date),
        made("CAST({0} AS DATE)", moment),
    )


def moments(number, text, date, truth, moment):
    return st.one_of(
        st.tuples(st.integers(-99, 99), st.sampled_from(["DAY", "HOUR", "MINUTE", "SECOND"]))
        .flatmap(lambda step: made(f"({{0}} + INTERVAL '{step[0]}' {step[1]})", moment)),
        st.integers(-30, 30).flatmap(
            lambda months: made(f"({{0}} + INTERVAL '{months}' MONTH)", moment)
        ),
        st.sampled_from(["year", "month", "week", "day", "hour", "minute", "second"]).flatmap(
            lambda unit: made(f"DATE_TRUNC('{unit}', {{0}})", moment)
        ),
        made("CAST({0} AS TIMESTAMP)", date),
        made("({0} + INTERVAL 1 HOUR)", date),
        made("COALESCE({0}, {1})", moment, date),
        made("GREATEST({0}, {1})", moment, moment),
        made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, moment, moment),
    )  # fmt: skip


def truths(number, text, date, truth, moment):
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    asked = st.sampled_from(["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"])
    null = st.just(("NULL", "NULL"))
    listed = st.lists(number_leaves | null, min_size=1, max_size=4)
    words = st.lists(text_leaves | null, min_size=1, max_size=4)
    return st.one_of(
        *(
            st.builds(lambda sign, a, b: join(f"({{0}} {sign} {{1}})", a, b), signs, kind, kind)
            for kind in (number, text, date, truth, moment)
        ),
        made("({0} AND {1})", truth, truth),
        made("({0} OR {1})", truth, truth),
        made("({0} AND {1} OR NOT {2})", truth, truth, truth),
        made("(NOT {0})", truth),
        made("({0} IS NULL)", st.one_of(number, text, date, truth, moment)),
        made("({0} < {1})", moment, date),
        made("({0} BETWEEN {1} AND {2})", moment, moment, moment),
        asked.flatmap(lambda words: made(f"({{0}} IS {words})", truth)),
        made("({0} BETWEEN {1} AND {2})", number, number, number),
        made("({0} IS NOT DISTINCT FROM {1})", number, number),
        made("STARTS_WITH({0}, 'a')", text),
        made("({0} NOT BETWEEN {1} AND {2})", date, date, date),
        st.builds(members, number, listed, st.booleans()),
        st.builds(members, text, words, st.booleans()),
        st.builds(like, text, patterns, st.booleans()),
        made("COALESCE({0}, {1})", truth, truth),
        made("CASE WHEN {0} THEN {1} END", truth, truth),
    )


def grown(depth: int):
    """Strategies for numbers, texts, dates, truths and timestamps of at most this depth."""
    leaves = (
        number_leaves | st.just(NULL_NUMBER),
        text_leaves | st.just(NULL_TEXT),
        date_leaves,
        truth_leaves | st.just(NULL_TRUTH),
        moment_leaves,
    )
    if depth == 0:
        return leaves
    below = grown(depth - 1)
    grow = (numbers, texts, dates, truths, moments)
    return tuple(opaque(leaf | make(*below)) for leaf, make in zip(leaves, grow, strict=True))


def opaque(inner: Pairs) -> Pairs:
    """The same, without the megabytes of its repr."""

    @st.composite
    def pairs(draw):
        return draw(inner)

    return pairs()


NUMBER, TEXT, _, TRUTH, _ = grown(3)
RANGES = st.one_of(
    st.builds(
        lambda name, sign, value: join(f"({{0}} {sign} {{1}})", (name, name), value),
        st.sampled_from(["i", "j", "n", "m"]),
        st.sampled_from(["=", "<", "<=", ">", ">="]),
        number_leaves,
    ),
    st.builds(members, st.just(("j", "j")), st.lists(number_leaves, min_size=1), st.booleans()),
    made("({0} BETWEEN {1} AND {2})", number_leaves, number_leaves, number_leaves),
    made("(NOT {0})", TRUTH),
    TRUTH,
)
CONDITION = opaque(
    RANGES | made("({0} AND {1})", RANGES, RANGES) | made("({0} OR {1})", RANGES, RANGES)
)
