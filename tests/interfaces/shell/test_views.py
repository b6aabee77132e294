"""EXPLAIN's tree, charts, the toolbar, colours: texts that can be checked on paper."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from prompt_toolkit.formatted_text import fragment_list_to_text
from pygments.token import Comment, Error, Keyword, Name, String

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.render import FORMATS
from dpdb.answers.record import CellAccuracy, CellColumn, Detail
from dpdb.errors import MissingBounds, Place, SyntaxFault, UnknownName, error_text
from dpdb.interfaces.console.chart import chart
from dpdb.interfaces.prompt.status import greeting, price_text, toolbar
from dpdb.interfaces.prompt.words import DpdbLexer
from dpdb.ledger.protocol import Balance, Price
from dpdb.policy.budget import Budget, Composition, LastingBudget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.mechanisms.selections.walk import Walk, ladder
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

POLICY = """
[budget]
epsilon = {epsilon}
queries = {queries}
[privacy]
neighbors = "{neighbors}"
[tables.t.columns]
g = {{ type = "integer", values = [1, 2] }}
x = {{ type = "integer", bounds = [0, 10], nullable = false }}
y = {{ type = "number" }}
d = {{ type = "date", bounds = [2000-01-01, 2009-12-31] }}
"""


def policy(folder: Path, epsilon: str = "1.0", queries: int = 10,
           neighbors: str = "add-remove") -> Policy:  # fmt: skip
    (folder / "t.csv").write_text("g,x,y,d\n" + "1,5,0.5,2001-01-01\n" * 4)
    (folder / "t.toml").write_text(
        POLICY.format(epsilon=epsilon, queries=queries, neighbors=neighbors)
    )
    return read_policy(folder / "t.toml")


def explained(policy: Policy, select: str, *given: str) -> str:
    answer = Session(policy, noise=Noiseless()).execute(f"EXPLAIN {select}")
    return explain_screen(answer, given)


def test_the_example_of_shoaran_thomo_and_weber(tmp_path: Path) -> None:
    """Example 1: a count at ε = 0.01 has noise of 230 or more in 10 %, and an MTA of 2300."""
    assert explained(policy(tmp_path, "0.01", 1), "SELECT COUNT(*) FROM t") == (
        "COUNT(*)  ± 300\n"
        "cost      ε 0.01 and 1 query, of ε 0.01 and 1 query left\n"
        "assumes   a person has one row\n"
        "\n"
        "COUNT(*)\n"
        "└─ count by Laplace noise\n"
        "   ├─ Δ      1, the most one row can change it\n"
        "   ├─ ε      0.01\n"
        "   ├─ scale  Δ/ε = 100\n"
        "   ├─ noise  ± 69 (50%), ± 230 (90%), ± 300 (95%)\n"
        "   └─ noise  within 10 % of values from 690 (50%), 2300 (90%), 3000 (95%)\n"
        "ε/k = 0.01/1 = 0.01"
    )


@pytest.mark.parametrize("value", [0, 10])
def test_the_error_of_a_mean_is_what_explain_said(tmp_path: Path, value: int) -> None:
    """Of 1,000 rows at a bound, where the noise of a mean is largest; ± has two digits."""
    (tmp_path / "t.csv").write_text("x\n" + f"{value}\n" * 1000)
    (tmp_path / "t.toml").write_text(WIDE.replace("1_000_000", "10").replace("1000000", "10"))
    session = Session(read_policy(tmp_path / "t.toml"), noise=Noiseless())
    said = explain_screen(session.execute("EXPLAIN SELECT AVG(x), VARIANCE(x) FROM t"))
    mean, variance = (float(each) for each in re.findall(r"; ([0-9.]+) if 1,000", said))
    [(low, high), (least, most)] = session.execute("SELECT AVG(x), VARIANCE(x) FROM t").intervals[0]
    assert 0.9 * mean <= high - low <= 1.1 * mean, "the other half is beyond a bound"
    assert most - least <= 1.1 * variance


def test_show_budget_says_first_what_is_left(tmp_path: Path) -> None:
    session = Session(policy(tmp_path), noise=Noiseless())
    session.execute("SELECT COUNT(*) FROM t")
    assert FORMATS["table"](session.execute("SHOW BUDGET")) == (
        "left     9 of 10 queries; each COUNT(*) about ± 30\nepsilon  0.1 of 1 spent"
    )
    session.execute("SET epsilon = 0.3")
    assert "each COUNT(*) about ± 10\n" in FORMATS["box"](session.execute("SHOW BUDGET"))
    assert FORMATS["csv"](session.execute("SHOW BUDGET")).startswith("budget,total,spent,left\n")


def test_nothing_breaks_a_word(tmp_path: Path) -> None:
    """The tree keeps its branches, and a number stays with its ±."""
    answer = Session(policy(tmp_path)).execute("EXPLAIN SELECT SUM(x), MEDIAN(x) FROM t")
    wide, narrow = explain_screen(answer, ()), explain_screen(answer, (), 60)
    assert max(map(len, wide.split("\n"))) > 80
    assert max(map(len, narrow.split("\n"))) <= 60
    words = re.sub(r"[│├└─ \n]+", " ", wide)
    assert re.sub(r"[│├└─ \n]+", " ", narrow) == words
    assert re.search(r"4610\n[│ ]+\(90%\)", narrow)
    assert re.search(r"\(of a\n[│ ]+value.s rank", narrow)
    assert not re.search(r"±$", narrow, re.MULTILINE)


def test_errors_fit_the_window() -> None:
    statement = "SELECT COUNT(*) FROM people WHERE " + "age > 3 AND " * 5 + "agee > 3"
    error = UnknownName("no column agee " + "in the table " * 8, hint="did you mean " * 8,
                        place=Place(1, 95))  # fmt: skip
    lines = error_text(statement, error, 60).split("\n")
    assert max(map(len, lines)) <= 60
    [code, caret] = [line for line in lines if line.startswith("  ") and line.strip()[0] in "…^"]
    assert code[caret.index("^") :] == "agee > 3"
    assert " ".join(line.strip() for line in lines[:2]).startswith("error: no column agee in the")
    assert len(error_text(statement, error).split("\n")) == 4
    short = UnknownName("no column b", place=Place(1, 50))
    assert f"\n  {'a ' * 25}\n" in error_text("a " * 25, short, 60)


UNITS = """
[tables.t]
unit = "who"
rows_per_unit = 3
rows_held_per_unit = 100
[tables.t.columns]
who = { type = "text" }
x = { type = "integer", bounds = [0, 100] }
d = { type = "date", bounds = [2000-01-01, 2009-12-31] }
g = { type = "integer", values = [1, 2] }
y = { type = "number" }
"""
CAPPED = "at most 3 rows per who, chosen by a keyed hash"
NOISE_ALONE = "intervals are of the noise alone, not of what clamping and caps change"
CHOSEN = "{} is chosen by {}, and has no interval: how near it is depends on the rows"


@pytest.mark.parametrize(("select", "notes"), [
    ("COUNT(*) FROM t", [CAPPED, NOISE_ALONE]),
    ("COUNT(x), MODE(g), SUM(g), SUM(CLAMP(y, 0, 1)) FROM t WHERE x > 3",
     [CHOSEN.format("MODE(g)", "frequency"), CAPPED, NOISE_ALONE]),
    ("MODE(g, x) FROM t",
     [CHOSEN.format("MODE(g, x)", "weight"), CAPPED, "x: values are clamped to 0 … 100"]),
    ("AVG(x), SUM(x + 1) FROM t", [CAPPED, "x: values are clamped to 0 … 100", NOISE_ALONE]),
    ("WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off) MEDIAN(d) FROM t",
     [CHOSEN.format("MEDIAN(d)", "rank"), CAPPED,
      "d: values are clamped to 2000-01-01 … 2009-12-31"]),
    ("COUNT(DISTINCT x) FROM t", [CAPPED, "x: values are clamped to 0 … 100", NOISE_ALONE]),
    ("COUNT(*) FROM t WHERE y > (SELECT AVG(x) FROM t)",
     [CAPPED, "x: values are clamped to 0 … 100", NOISE_ALONE]),
])  # fmt: skip
def test_rows_that_are_left_out_and_values_that_are_clamped(
    tmp_path: Path, select: str, notes: list[str]
) -> None:
    """At the prompt and in a batch, from the policy alone: there is no file."""
    (tmp_path / "t.toml").write_text(UNITS)
    answer = Session(read_policy(tmp_path / "t.toml")).execute(f"EXPLAIN SELECT {select}")
    assert [*answer.notes, *answer.bounding] == notes
    for shown in (explain_screen(answer, ()), FORMATS["table"](answer)):
        words = " ".join(shown.split())
        assert all(note in words for note in notes if note != NOISE_ALONE)
    assert "the rows of one who can change it" in explain_screen(answer, ())


def test_rows_that_are_units_are_not_capped(tmp_path: Path) -> None:
    assert Session(policy(tmp_path)).execute("EXPLAIN SELECT COUNT(*) FROM t").bounding == ()


@pytest.mark.parametrize(("select", "bounds"), [
    ("SUM(x) FROM t", "0 to 10, declared in the policy"),
    ("SUM(x) FROM t WHERE x < 5", "0 to 4, by WHERE; declared 0 to 10"),
    ("SUM(y) FROM t WHERE y BETWEEN 0 AND 2", "0 to 2, by WHERE"),
    ("MAX(y) FROM t", "-9007199254741 to 9007199254741, as none are declared"),
    ("SUM(CLAMP(y, -1, 1)) FROM t", "-1 to 1, by CLAMP"),
    ("SUM(x * x + 1) FROM t", "1 to 101, worked out from x"),
    ("MAX(d) FROM t", "2000-01-01 to 2009-12-31, declared in the policy"),
    ("AVG(x) FROM t", "0 to 10, declared in the policy"),
])  # fmt: skip
def test_where_bounds_came_from(tmp_path: Path, select: str, bounds: str) -> None:
    assert f"bounds {bounds}\n" in explained(policy(tmp_path), f"SELECT {select}")


def test_bounds_from_the_command_line(tmp_path: Path) -> None:
    shown = explained(policy(tmp_path), "SELECT SUM(x) FROM t", "x")
    assert "bounds 0 to 10, by --bounds\n" in shown


def test_a_public_number_of_rows(tmp_path: Path) -> None:
    """Of 4 rows one can change the mean by 10/4."""
    replacing = policy(tmp_path, neighbors="replace")
    assert "Δ      2.5, the" in explained(replacing, "SELECT AVG(x) FROM t")
    assert "nothing is drawn" in explained(replacing, "SELECT COUNT(*) FROM t")


def test_subqueries_and_shares(tmp_path: Path) -> None:
    shown = explained(policy(tmp_path), "SELECT COUNT(*), SUM(x), MAX(x) FROM t WHERE x > "
                                        "(SELECT MEDIAN(x) FROM t)")  # fmt: skip
    shown = shown.partition("\n\n")[2]
    assert shown.index("MEDIAN(x)") < shown.index("COUNT(*), SUM(x)\n") < shown.index("MAX(x)")
    assert shown.count("a part of the query's 0.1") == 3
    assert "quantile by the exponential mechanism" in shown


BUDGET = Budget(Fraction(1), Fraction(0), 10)
FULL = Balance(BUDGET, Fraction(1), Fraction(0), 10)
LOW = Balance(BUDGET, Fraction(1, 20), Fraction(0), 1)


def answer(rows: list[tuple[str, float]], margins: list[float], columns: list[str]) -> Answer:
    keys, counts = zip(*rows, strict=True)
    ends = (
        tuple(count - margin for count, margin in zip(counts, margins, strict=True)),
        tuple(count + margin for count, margin in zip(counts, margins, strict=True)),
    )
    cells = (CellColumn(keys), CellColumn(counts, Detail.of(CellAccuracy(ends))))
    return Answer("", tuple(columns), cells, FULL, query=True)


def test_chart() -> None:
    counts = answer([("a", 10), ("京", 30), ("none", -10)], [5, 10, 5], ["k", "COUNT(*)"])
    # 42 columns leave 28 for -15 to 40: 27/55 of a column for each unit, zero in the seventh.
    assert chart(counts, "", 42) == (
        "COUNT(*) by k, ± at 95 %\n"
        "   a        ███├─┼──┤              10 ± 5\n"
        "  京        ██████████├────┼────┤ 30 ± 10\n"
        "none ├─┼──┤██                     -10 ± 5"
    )


def test_chart_marks_what_is_only_noise() -> None:
    plain = answer([("a", 5.0), ("b", 5.0)], [5, 1], ["k", "AVG(x)"])
    keys, means = plain.cells
    assert means.accuracy is not None
    accuracy = means.accuracy._replace(only_noise=(True, False))
    flagged = replace(plain, cells=(keys, replace(means, accuracy_detail=Detail.of(accuracy))))
    first, second = chart(flagged, "", 60).split("\n")[1:]
    assert first.endswith("5.0 ± 5.0 (only noise)")
    assert second.endswith(" 5.0 ± 1.0")
    assert len(first) == len(second) <= 60


def test_chart_of_a_named_column() -> None:
    counts = answer([("a", 10)], [5], ["k", "COUNT(*)"])
    assert chart(counts, "count(*)", 60)
    with pytest.raises(UnknownName, match="no column cnt"):
        chart(counts, "cnt", 60)


def quote(cost: str, balance: Balance = FULL) -> Answer:
    price = Price(Fraction(cost), Fraction(0), 1)
    return Answer("", (), (), balance, cost=price, query=True, explain=True)


@pytest.mark.parametrize(("columns", "errors"), [
    ("COUNT(*)", ", ± 30"),
    ("AVG(x)", ", ± 0.03 of 10,000 rows"),
    ("COUNT(*), AVG(x)", ", COUNT(*) ± 41, AVG(x) ± 0.03 of 10,000 rows"),
    ("MEDIAN(x)", ""),
])  # fmt: skip
def test_a_column_has_one_error_beside_its_price(tmp_path: Path, columns: str, errors: str) -> None:
    # A count has noise of scale 10, or beside AVG the sum of two: (1 + t/20)·exp(-t/10) is 0.05 at
    # t = 41.1. A mean of x from 0 to 10 has 10·30/10,000.
    known = Session(policy(tmp_path)).execute(f"EXPLAIN SELECT {columns} FROM t")
    assert price_text(known) == f" costs ε 0.1{errors}"


@pytest.mark.parametrize(("balance", "priced", "width", "text", "refused"), [
    (FULL, None, 80, " ε 1 of 1 ██████████ 10 of 10 queries left ", False),
    (FULL, quote("0.1"), 80,
     " ε 1 of 1 ██████████ 10 of 10 queries left  costs ε 0.1 ", False),
    (FULL, quote("0.1"), 40, " ε 1 left  costs ε 0.1 ", False),
    (LOW, quote("0.1", balance=LOW), 80,
     " ε 0.05 of 1 ░░░░░░░░░░ 1 of 10 queries left  refused: costs ε 0.1 ", True),
    (FULL, MissingBounds("y has no bounds"), 68,
     " ε 1 of 1, 10 of 10 queries left  refused: y has no bounds ", True),
    (FULL, SyntaxFault("it ends too soon"), 80, " ε 1 of 1 ██████████ 10 of 10 queries left ",
     False),
])  # fmt: skip
def test_toolbar(
    balance: Balance, priced: Answer | MissingBounds | None, width: int, text: str, refused: bool
) -> None:
    shown = toolbar(balance, priced, width)
    assert fragment_list_to_text(shown) == text
    assert any(style == "class:refused" for style, *_ in shown) == refused


@pytest.mark.parametrize("width", [20, 40, 80])
def test_toolbar_never_wraps(width: int) -> None:
    long = MissingBounds("净值 " * 40)
    assert len(fragment_list_to_text(toolbar(FULL, long, width))) <= width


def test_colours() -> None:
    text = ".mode csv\nselect COUNT(\"a\") from t -- ;\nwhere x = 'it''s' /* a /* b */ */ and 'open"
    tokens = list(DpdbLexer(ensurenl=False, stripnl=False).get_tokens(text))
    assert "".join(part for _, part in tokens) == text
    kinds = {part: kind for kind, part in tokens}
    assert kinds[".mode"] is Name.Decorator
    assert kinds["select"] is Keyword
    assert kinds["COUNT"] is Name.Function
    assert kinds['"a"'] is Name.Variable
    assert kinds["-- ;"] is Comment.Single
    assert kinds["'it''s'"] is String.Single
    assert kinds["and"] is Keyword
    assert kinds["'open"] is Error


@pytest.mark.parametrize(
    ("composition", "queries", "said"),
    [
        (Composition.PURE, 50, "ε 1, k 50 for this session: ε/k = 0.02 a query"),
        (
            Composition.ADVANCED,
            50,
            r"ε 1, k 50 for this session: by zcdp at δ 1e-06, ε 0.03\d* a query",
        ),
        (
            Composition.ZCDP,
            50,
            r"ε 1, k 50 for this session: by zcdp at δ 1e-06, ε 0.03\d* a query",
        ),
        (Composition.ZCDP, 5, "ε 1, k 5 for this session: by the sum of ε, ε/k = 0.2 a query"),
    ],
)
def test_the_greeting_says_what_a_query_gets(
    tmp_path: Path, composition: Composition, queries: int, said: str
) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), queries, composition)
    shown = greeting(replace(policy(tmp_path), budget=budget), 100)
    assert re.search(said, shown)


def test_the_greeting_says_whose_budget_it_is(tmp_path: Path) -> None:
    lasting = LastingBudget("shop", tmp_path / "shop.ledger")
    shown = greeting(replace(policy(tmp_path), lasting=lasting), 100)
    assert "ε 1 for good, k 10 a session: ε/k = 0.1 a query" in shown


@pytest.mark.parametrize(
    ("select", "said"),
    [
        # At ε = 0.1 a count is within ± 30; the table has 4 rows of x = 5.
        ("SELECT COUNT(*) FROM t", "±30 is 750 % of 4"),
        ("SELECT 1000 * COUNT(*) FROM t", "±30000 is 750 % of 4000"),
        ("SELECT COUNT(*) FROM t WHERE x > 5", "±30 is larger than the answer, 0"),
        (
            "SELECT x, COUNT(*) FROM t WHERE x IN (4, 5) GROUP BY x",
            "2 of 2 rows: ± is more than half of the answer\n"
            "larger groups or narrower bounds have less noise: .help less-noise",
        ),
        (
            "SELECT COUNT(*), 10000 + COUNT(*) FROM t",
            "1 of 2 numbers: ± is more than half of the answer",
        ),
        ("SELECT -COUNT(*) FROM t", "±30 is 750 % of 4"),
        # How far a selected value can be off does not follow from its bounds.
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off) MEDIAN(x) FROM t",
            "MEDIAN(x) is chosen by rank, and has no interval: how near it is depends on the rows",
        ),
    ],
)
def test_the_noise_beside_the_answer(tmp_path: Path, select: str, said: str) -> None:
    answer = Session(policy(tmp_path), noise=Noiseless()).execute(select)
    lines = footer(replace(answer, told=frozenset(answer.bounding))).split("\n")[1:]
    assert lines[:-1] == said.split("\n")


def test_a_walk_says_where_it_stops(tmp_path: Path) -> None:
    """The facts of MAX over 1,000,001 values at ε = 0.1, in the words of the tree."""
    (tmp_path / "t.toml").write_text(WIDE)
    answer = Session(read_policy(tmp_path / "t.toml")).execute("EXPLAIN SELECT MAX(x) FROM t")
    rungs = len(ladder(0, 10**6))
    most = Walk(1, Fraction(1, 10), one_way=True).rows_above(0.95, rungs)
    assert explain_screen(answer, ()).splitlines()[4:12] == [
        "MAX(x)",
        "└─ quantile by AboveThreshold over a grid of values",
        "   ├─ bounds 0 to 1000000, declared in the policy",
        "   ├─ Δ      1, the most one row can change how many rows are beyond a value",
        "   ├─ ε      0.1: 0.07 for when to stop, 0.03 for each look",
        f"   ├─ grid   {rungs} values, 4.4 % apart far from zero",
        f"   ├─ stops  where about 20 rows are left above; 95 % sure: {most} at most",
        "   └─ says   95 % sure: the greatest value is above the one 3 steps below; nothing is "
        "said of how far",
    ]


WIDE = """
[tables.t]
path = "t.csv"
[tables.t.columns]
x = { type = "integer", bounds = [0, 1000000] }
"""
