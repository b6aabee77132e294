"""Random whole statements, written twice: for dpdb, and for DuckDB on the same rows.

Expressions are those of tests/engines/conformance/test_semantics.py, where the differences between the two
dialects are listed. Those between whole statements are:

  groups      dpdb shows declared groups, empty ones too; HAVING COUNT(*) > 0 takes those away.
              DuckDB shows a group of NULLs; IS NOT NULL takes it away
  nothing     a sum of nothing is 0 for dpdb, and averages and spreads of too little are something
              within the bounds: DuckDB says NULL, and is not compared
  integers    quantiles of integers are integers for dpdb, so none are asked for. Products with
              1.0 are decimals for DuckDB, whose quantiles have one digit after the point
  order       only exact numbers are compared and sorted by: floating-point sums differ in their
              last digits. Keys come last in every order, so that there are no ties
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.support.generated_expressions import CONDITION, grown

Pair = tuple[str, str]
NUMBER, TEXT, DATE, TRUTH, MOMENT = grown(2)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
NEW = ["x", "y", "z"]
ALIASES = [*NEW, "i", "j", "n", "s", "b", "id", "t"]
"""Most of them are names of columns."""
KEYS = {"j": "j * 2 - 1", "s": "LOWER(s)", "b": "NOT b", "id": "id % 7", "i": "ABS(i)"}
"""Columns to group by, and an expression on each."""
EXACT = ["COUNT(*)", "COUNT(i)", "COUNT(DISTINCT s)", "COUNT(*) - COUNT(n)", "SUM(id)"]
"""What both get to the last digit, and what is never NULL; of no rows the last one is."""


@dataclass(frozen=True)
class Output:
    """One item of the SELECT list."""

    ours: str
    theirs: str
    alias: str | None = None
    exact: bool = False
    """Whether it can be sorted by."""
    key: str | None = None
    """The column that it is, if it is just that."""

    def written(self, text: str) -> str:
        return text if self.alias is None else f"{text} AS {self.alias}"


@dataclass(frozen=True)
class Statement:
    """A SELECT in both dialects."""

    ours: str
    theirs: str
    ordered: bool
    where: str = "TRUE"
    """The condition on rows, as DuckDB has it."""

    def __repr__(self) -> str:
        return f"\n    {self.ours}\n    {self.theirs}\n"


def _bounded(number: Pair) -> Pair:
    """Within bounds, as dpdb wants it; CLAMP is its own."""
    ours, theirs = number
    low_high = f"greatest(-500, least(500, {theirs}))"
    return f"CLAMP({ours}, -500, 500)", f"CASE WHEN ({theirs}) IS NOT NULL THEN {low_high} END"


def _call(name: str, argument: Pair, condition: Pair | None) -> Pair:
    ours, theirs = (f"{name}({text})" for text in argument)
    if condition is None:
        return ours, theirs
    return f"{ours} FILTER (WHERE {condition[0]})", f"{theirs} FILTER (WHERE {condition[1]})"


ANYTHING = st.one_of(NUMBER, TEXT, DATE, TRUTH, MOMENT)
SMALL = st.sampled_from([(name, name) for name in ("i", "j", "m", "id")])
FILTER = st.none() | TRUTH
COUNTED = st.one_of(
    st.just(("COUNT(*)", "COUNT(*)")),
    st.builds(_call, st.just("COUNT"), ANYTHING, FILTER),
    st.builds(lambda argument: _call("COUNT", (f"DISTINCT {argument[0]}", f"DISTINCT {argument[1]}"),
                                     None), st.one_of(NUMBER, TEXT)),
)  # fmt: skip
AGGREGATE = st.one_of(
    COUNTED,
    st.builds(_call, st.sampled_from(["SUM", "AVG"]), NUMBER.map(_bounded), FILTER),
    st.builds(
        _call,
        st.sampled_from(["VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"]),
        SMALL,
        FILTER,
    ),
)
RANKED = st.one_of(
    st.builds(_call, st.sampled_from(["MIN", "MAX"]), NUMBER.map(_bounded), FILTER),
    st.builds(
        lambda name, part: (f"QUANTILE_CONT({name} * 1.0, {part})",
                            f"QUANTILE_CONT({name}::DOUBLE, {part})"),
        st.sampled_from(["i", "n", "id"]), st.sampled_from([0.25, 0.5, 0.9]),
    ),
    st.sampled_from(["MEDIAN(n)", "MEDIAN(i * 1.0)", "MEDIAN(m)"]).map(lambda text: (text, text)),
)  # fmt: skip
"""Exact in teaching mode alone: elsewhere a value is selected at random."""
SUBQUERY = st.one_of(
    st.sampled_from(["(SELECT AVG(i) FROM t)", "(SELECT SUM(j) - COUNT(i) FROM t)"]).map(
        lambda text: (text, text)
    ),
    CONDITION.map(
        lambda pair: (f"(SELECT COUNT(*) FROM t WHERE {pair[0]})",
                      f"(SELECT COUNT(*) FROM t WHERE {pair[1]})")
    ),
)  # fmt: skip
WHERE = st.one_of(
    CONDITION,
    st.builds(
        lambda name, sign, inner: (f"({name} {sign} {inner[0]})", f"({name} {sign} {inner[1]})"),
        st.sampled_from(["i", "j", "id"]), SIGNS, SUBQUERY,
    ),
)  # fmt: skip


def _exact(keys: Sequence[str]) -> list[str]:
    return EXACT if keys else EXACT[:-1]


@st.composite
def _outputs(draw: st.DrawFn, keys: Sequence[str], teaching: bool) -> list[Output]:
    """Keys, aggregates and what is made of them, some under another's name."""
    names = iter(draw(st.permutations(ALIASES)))
    forms = st.sampled_from(["aggregate", "exact", "made", *["key", "of key"] * bool(keys)])
    made = []
    # There is an aggregate in each list.
    for form in ["exact", *draw(st.lists(forms, max_size=3))]:
        alias = next(names) if draw(st.booleans()) else None
        made.append(_output(draw, form, alias, keys, teaching))
    made = draw(st.permutations(made))
    named = [output.alias for output in made if output.ours in EXACT and output.alias in NEW]
    if named and draw(st.booleans()):
        text = f"{draw(st.sampled_from(named))} + 1"
        made = [*made, Output(text, text)]
    return made


def _output(
    draw: st.DrawFn, form: str, alias: str | None, keys: Sequence[str], teaching: bool
) -> Output:
    if form == "exact":
        text = draw(st.sampled_from(_exact(keys)))
        return Output(text, text, alias, exact=True)
    if form == "key":
        key = draw(st.sampled_from(keys))
        return Output(key, key, alias, exact=True, key=key)
    if form == "of key":
        text = KEYS[draw(st.sampled_from(keys))]
        return Output(text, text, alias, exact=True)
    found = draw(AGGREGATE | RANKED if teaching else AGGREGATE)
    if form == "made":
        count = draw(COUNTED)
        found = f"{found[0]} / {count[0]}", f"{found[1]} / NULLIF({count[1]}, 0)"
    return Output(*found, alias)


@st.composite
def _having(draw: st.DrawFn, keys: Sequence[str]) -> str:
    """A condition on exact numbers and on keys, which aliases may hide but do not."""
    tests = st.builds(
        "({} {} {})".format, st.sampled_from(_exact(keys)), SIGNS, st.integers(-2, 12)
    )
    if keys:
        tests |= st.sampled_from(keys).map(lambda key: f"({key} IS NOT NULL)")
        tests |= st.sampled_from([f"({k} > 1)" for k in keys if k in "ij"] or ["(COUNT(*) > 2)"])
    first, second = draw(tests), draw(tests)
    return f"({first} {draw(st.sampled_from(['AND', 'OR', 'AND NOT']))} {second})"


def _order(draw: st.DrawFn, outputs: Sequence[Output], keys: Sequence[str], table: str) -> str:
    """By positions, aliases and exact aggregates, and by the keys themselves in the end."""
    exact = [(at, output) for at, output in enumerate(outputs, 1) if output.exact]
    terms = [*(str(at) for at, _ in exact), *EXACT[:3]]
    terms += [output.alias for _, output in exact if output.alias]
    chosen = draw(st.lists(st.sampled_from(terms), max_size=2))
    written = [*chosen, *(f"{table}.{key}" for key in keys)]
    return ", ".join(f"{term} {draw(st.sampled_from(['', 'ASC', 'DESC']))}" for term in written)


@st.composite
def statements(draw: st.DrawFn, teaching: bool = False, unit: str | None = None) -> Statement:
    """A SELECT of everything that a statement can have, but DuckDB and dpdb both know.

    No groups are asked for that would each be about one unit.
    """
    columns = sorted(KEYS.keys() - {unit})
    keys = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    keys = keys if set(keys) != {"i", "id"} else keys[:1]
    outputs = draw(_outputs(keys, teaching))
    source, table = draw(st.sampled_from([("t", "t"), ("t AS u", "u"), ("t u", "u")]))
    ours, theirs = [f"FROM {source}"], [f"FROM {source}"]
    where = draw(st.none() | WHERE)
    known = [f"{table}.{key} IS NOT NULL" for key in keys]
    if where is not None:
        ours.append(f"WHERE {where[0]}")
    if where is not None or known:
        theirs.append("WHERE " + " AND ".join([*([f"({where[1]})"] if where else []), *known]))
    if keys:
        shown = {output.key: at for at, output in enumerate(outputs, 1) if output.key}
        groups = [str(shown[key]) if key in shown and draw(st.booleans()) else key for key in keys]
        ours.append(f"GROUP BY {', '.join(groups)}")
        theirs.append(f"GROUP BY {', '.join(groups)}")
    having = ["COUNT(*) > 0"] * bool(keys)
    if draw(st.booleans()):
        having.append(draw(_having(keys)))
    if having:
        ours.append("HAVING " + " AND ".join(having))
        theirs.append("HAVING " + " AND ".join(having))
    ordered = bool(keys) and draw(st.booleans())
    if ordered:
        tail = [f"ORDER BY {_order(draw, outputs, keys, table)}"]
        if draw(st.booleans()):
            tail.append(f"LIMIT {draw(st.integers(0, 8))}")
        if draw(st.booleans()):
            tail.append(f"OFFSET {draw(st.integers(0, 4))}")
        ours += tail
        theirs += tail
    return Statement(
        " ".join([f"SELECT {', '.join(o.written(o.ours) for o in outputs)}", *ours]),
        " ".join([f"SELECT {', '.join(o.written(o.theirs) for o in outputs)}", *theirs]),
        ordered,
        "TRUE" if where is None else where[1],
    )


SELECTED = st.builds(
    "SELECT {} FROM t WHERE {}".format,
    st.one_of(
        st.builds("{}(CLAMP({}, -9, 9))".format, st.sampled_from(["MIN", "MAX", "MEDIAN"]),
                  NUMBER.map(lambda pair: pair[0])),
        st.builds("MODE({})".format, st.sampled_from("jsb")),
        st.builds("MODE({}, CLAMP({}, -9, 9))".format, st.sampled_from("jsb"),
                  NUMBER.map(lambda pair: pair[0])),
        st.builds("QUANTILE_CONT({}, {})".format, st.sampled_from(["id", "i", "n", "m"]),
                  st.sampled_from([0.1, 0.25, 0.5, 0.95])),
    ),
    WHERE.map(lambda pair: pair[0]),
)  # fmt: skip
"""Values that are selected at random: statements without noise have none."""
HUGE = st.builds(
    "SELECT SUM({0}) + {1} = SUM({0}), COUNT(*) FROM t{2}".format,
    st.sampled_from([2**53, 2**53 - 1, 2**52 + 1, -(2**53)]),
    st.sampled_from([0, 1, 0.5]),
    st.sampled_from(["", "", f" WHERE id < (SELECT SUM({2**53}) FROM t)"]),
)
"""Sums about the ends of doubles and of 64 bits."""
OPTIONS = ["", "", "", "WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') "]
ASKED = st.builds(
    lambda text, options: text.replace("SELECT ", f"SELECT {options}", 1),
    st.one_of(
        statements().map(lambda made: made.ours),
        SELECTED,
        HUGE,
        st.builds("{} GROUP BY {}".format, SELECTED, st.sampled_from(["j", "s", "b, s"])),
    ),
    st.sampled_from(OPTIONS),
)
"""What dpdb alone is asked."""
