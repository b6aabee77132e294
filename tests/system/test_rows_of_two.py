"""Rows of two units through the public way in: neighbours of both kinds, prices, refusals."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.units import keys as keys_of_units
from dpdb.errors import DpdbError, TooLarge, Unsupported
from dpdb.plan import cost_table
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.plan.ranges.statistics import Count, FilledLadder
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.session.backends import PublicFacts
from dpdb.session.session import Session
from dpdb.sql.selects.statements import Select, statement
from tests.support.audited import noise
from tests.support.exactly import planned, raw
from tests.support.noiseless import Noiseless
from tests.support.rows_of_two import (
    FIND,
    FINDING,
    POLICY,
    STATEMENTS,
    Data,
    neighbours,
    random_data,
    shop_of_two,
)
from tests.support.tables import PEOPLE


def _exact(folder: Path, data: Data, plans: Sequence[Plan]) -> list[list[np.ndarray]]:
    """The exact results that mechanisms draw with, of each plan."""
    engine = MemoryEngine(tables=shop_of_two(folder, data).tables)
    return [[np.asarray(each.cells) for each in engine.exact(plan, {})] for plan in plans]


def test_no_unit_moves_a_result_by_more_than_the_noise_pays_for(tmp_path: Path) -> None:
    policy = shop_of_two(tmp_path, random_data(0))
    plans = [planned(text, policy) for text in STATEMENTS]
    paid = [[each.mechanism.sensitivity for each in plan.releases] for plan in plans]
    reached = [[Fraction(0) for _ in each] for each in paid]
    for seed in range(3):
        data = random_data(seed)
        whole = _exact(tmp_path, data, plans)
        for _, without in neighbours(data):
            for at, found in enumerate(_exact(tmp_path, without, plans)):
                for which, cells in enumerate(found):
                    moved = int(np.abs(whole[at][which] - cells).sum())
                    assert moved <= paid[at][which], (STATEMENTS[at], which)
                    reached[at][which] = max(reached[at][which], Fraction(moved, paid[at][which]))
    assert reached[0] == [1]
    assert min(map(min, reached)) >= Fraction(1, 3)


def _first_column_alone(wanted: Sequence[Any], keys: Sequence[Any]) -> np.ndarray:
    return keys_of_units.rows_named(wanted[0], keys[0])


def test_neighbours_find_a_chain_that_is_matched_on_one_column(tmp_path: Path) -> None:
    """Supplier 1 makes each product in shop 1, and the products of shop 2 are those of others."""
    made = [(p + 1, p, 2) for p in (1, 2, 3)] + [(1, p, 1) for p in (1, 2, 3)]
    claims = [(order, 1 + order % 3, 1, 1) for order in range(1, 7) for _ in range(2)]
    orders = [(i, i, 1) for i in range(1, 7)]
    data = {**random_data(0), "orders": orders, "deals": made, "claims": claims, "visits": []}
    plans = [planned("SELECT COUNT(*) FROM claims", shop_of_two(tmp_path, data))]
    paid = plans[0].releases[0].mechanism.sensitivity

    def most() -> int:
        (whole,), *rest = (
            _exact(tmp_path, each, plans)[0] for each in (data, *(d for _, d in neighbours(data)))
        )
        return max(abs(int(whole.sum()) - int(cells.sum())) for [cells] in rest)

    assert most() == paid
    with patch.object(keys_of_units, "rows_named_together", _first_column_alone):
        assert most() > paid


def test_a_row_is_joined_on_all_columns_of_a_chain(tmp_path: Path) -> None:
    """Neither a part of them says whose a row is, nor do parts of two rows together."""
    session = Session(shop_of_two(tmp_path, random_data(1)), noise=Noiseless())
    deals = "deals d ON d.product = {} AND d.shop = {}"
    assert session.execute(
        f"SELECT COUNT(*) FROM claims c JOIN {deals.format('c.product', 'c.shop')}"
    )
    for columns in (("c.product", "c.product"), ("c.shop", "c.product"), ("c.product", "1")):
        with pytest.raises(Unsupported, match="belong to 3 units"):
            session.execute(f"SELECT COUNT(*) FROM claims c JOIN {deals.format(*columns)}")
    both = "visits w ON w.product = v.product AND w.shop = v.shop"
    for text in (
        f"visits v JOIN {deals.format('v.product', 'v.product')}",
        f"visits v JOIN {both} JOIN {deals.format('v.product', 'w.shop')}",
    ):
        with pytest.raises(Unsupported, match="both rows are of one") as refused:
            session.execute(f"SELECT COUNT(*) FROM {text}")
        assert refused.value.hint == "add AND d.shop = v.shop AND d.product = v.product"


def test_no_unit_moves_the_sums_of_a_room_by_more_than_the_room(tmp_path: Path) -> None:
    """That is what the scores of `FoundRoom` need: 0 … a room, whatever the room is."""
    policy, reached = shop_of_two(tmp_path, random_data(0)), set()
    searches = [planned(FIND + text, policy).subplans[0] for text in FINDING]
    ladders = [search.releases[0].statistic for search in searches]
    for seed in range(3):
        data = random_data(seed)
        whole = _exact(tmp_path, data, searches)
        for _, without in neighbours(data):
            found = _exact(tmp_path, without, searches)
            for ladder, [[before]], [[after]] in zip(ladders, whole, found, strict=True):
                assert isinstance(ladder, FilledLadder)
                for rung, moved in zip(ladder.rungs, (before - after).tolist(), strict=True):
                    assert 0 <= moved <= rung * ladder.largest
                    reached.add((rung, Fraction(moved, rung * ladder.largest)))
    assert [ladder.largest for ladder in ladders] == [1, 1, 1, 3, 1, 5]  # type: ignore[union-attr]
    assert {(1, 0), (1, 1), (2, 1), (4, 1)} <= reached


def _roomy(folder: Path, seed: int, people: int = 400) -> Session:
    """A session on messages of people who have 6 each, where 200 could count."""
    draw = random.Random(seed)
    numbers = [draw.randrange(people) for _ in range(6 * people)]
    messages = [(a, b, 1) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
    roomy = POLICY.replace("rows_per_unit = 2\n", "rows_per_unit = 200\n")
    policy = shop_of_two(folder, {**random_data(1), "messages": messages}, roomy)
    session = Session(policy, noise=noise(seed))
    session.execute("SET epsilon = 1")
    session.execute("SET rows_per_unit = 'find'")
    return session


def test_a_room_is_found_paid_with_the_answer_and_kept(tmp_path: Path) -> None:
    session = _roomy(tmp_path, 1)
    first = session.execute("SELECT COUNT(*) FROM messages")
    room, noisy = first.releases
    assert (room.mechanism, room.epsilon) == ("room", Fraction(7, 20))
    assert (noisy.mechanism, noisy.epsilon) == ("laplace", Fraction(13, 20))
    assert first.cost.epsilon == 1
    assert noisy.sensitivity in (8, 16, 32, 64)
    assert f"{noisy.sensitivity} rows of each person count at most, found with ε 0.35" in "".join(
        first.notes
    )
    again = session.execute("SELECT COUNT(*) FROM messages")
    assert (again.cost.epsilon, again.rows) == (0, first.rows)
    other = session.execute("SELECT COUNT(*) FROM messages WHERE amount = 1")
    assert [(r.mechanism, r.sensitivity) for r in other.releases] == [
        ("laplace", noisy.sensitivity)
    ]
    grouped = session.execute("SELECT amount, COUNT(*) FROM messages GROUP BY amount")
    assert [each.mechanism for each in grouped.releases] == ["laplace"]
    assert session.execute("SELECT SUM(0) FROM messages").cost.epsilon == 0


def _rmse(policy: str, asked: str, exact: int) -> float:
    """The error of 30 sessions that find a room, with the rows that it leaves out."""
    read, squares = read_policy(PEOPLE.parent / policy), []
    for seed in range(30):
        answer = Session(read, noise=noise(seed)).execute(FIND + asked)
        squares.append((float(answer.rows[0][0]) - exact) ** 2)
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize(("asked", "exact", "scale"), [
    ("COUNT(*) FROM messages WHERE hour >= 21", 491, 80 / 0.5),
    ("SUM(words) FROM messages WHERE hour >= 18", 45_886, 100 * 80 / 0.5),
])  # fmt: skip
def test_of_few_rows_a_room_that_is_found_has_half_the_error(
    asked: str, exact: int, scale: float
) -> None:
    """Of that of the policy's room, whose noise of this `scale` is for all of ε."""
    assert _rmse("examples/messages.toml", asked, exact) < scale * np.sqrt(2) / 2


def test_a_room_of_the_policy_that_fits_has_the_smaller_error() -> None:
    """A room of 50 rows, with all of ε, leaves out some of 9,000 rows at most."""
    asked = "SELECT COUNT(*) FROM deliveries"
    policy = read_policy(PEOPLE.parent / "shop/suppliers.toml")
    kept = float(Session(policy, noise=Noiseless()).execute(asked).rows[0][0])
    declared = np.hypot(50 / 0.5 * np.sqrt(2), 9_000 - kept)
    assert _rmse("shop/suppliers.toml", asked.removeprefix("SELECT "), 9_000) > declared


def test_the_rooms_among_which_one_is_found_are_work_for_each_row(tmp_path: Path) -> None:
    held = POLICY.replace("rows_per_unit = 2\n", "rows_per_unit = 9000\n")
    session = Session(shop_of_two(tmp_path, random_data(1), held), noise=noise(1))
    with pytest.raises(DpdbError, match="the rows of one person can take") as refused:
        session.execute(f"{FIND}COUNT(*) FROM messages")
    assert "a lower rows_per_unit in the policy" in (refused.value.hint or "")
    policy = shop_of_two(tmp_path, random_data(1), held.replace("= 9000", "= 900"))
    found, declared = (
        planned(f"{words}COUNT(*) FROM messages", policy).work for words in (FIND, "SELECT ")
    )
    rooms = 11  # 1, 2, 4, …, 512, 900
    assert found.seconds - declared.seconds >= rooms * 900 * cost_table.FILLED / 1e9
    assert session.execute("SELECT COUNT(*) FROM messages").cost.epsilon


def test_no_explanation_of_a_room_depends_on_the_rows(tmp_path: Path) -> None:
    texts = [f"EXPLAIN {FIND}{text}" for text in FINDING]
    told = [
        [Session(shop_of_two(tmp_path, random_data(seed))).execute(text) for text in texts]
        for seed in (1, 2)
    ]
    assert told[0] == told[1]
    assert {each.cost.epsilon for each in told[0]} == {1}


@pytest.mark.parametrize("option", ["mechanism = 'gaussian'", "error = 5"])
def test_a_room_goes_with_no_goal_and_no_gaussian_noise(option: str, tmp_path: Path) -> None:
    session = Session(shop_of_two(tmp_path, random_data(1)))
    text = FIND.replace("(", f"({option}, ") + FINDING[0]
    with pytest.raises(DpdbError, match="rows_per_unit = 'find'") as refused:
        session.execute(text)
    assert "OPTIONS(rows_per_unit = 'declared')" in (refused.value.hint or "")


def test_no_row_of_another_unit_is_joined_whatever_a_reference_says(tmp_path: Path) -> None:
    """All orders reference customer 9, so that without her no line would have a row."""
    day = 'day = { type = "integer", '
    broken = POLICY.replace(f"{day}values = [1, 2, 3]", f'{day}references = "customers.id"')
    numbers = range(1, 9)
    data = {
        **random_data(1),
        "customers": [(i, 1) for i in (*numbers, 9)],
        "orders": [(i, i, 9) for i in numbers],
        "lines": [(i, i, 1, 1) for i in numbers],
    }
    policy = shop_of_two(tmp_path, data, broken)
    text = (
        "SELECT COUNT(*) FROM lines l JOIN orders o ON o.id = l.order_id"
        " JOIN customers c ON c.id = o.{}"
    )
    engine = MemoryEngine(tables=policy.tables)
    assert raw(text.format("customer_id"), policy, engine) == [[8]]
    assert raw(text.format("day"), policy, engine) == [[0]]


def _gaussian(text: str, policy: Policy) -> Plan:
    found = statement(text, policy, PublicFacts(None))
    assert isinstance(found, Select)
    options = replace(found.query.options, mechanism=NoiseKind.GAUSSIAN)
    share = BudgetShare(Fraction(1), Fraction(1, 10**6))
    return plan(found.query.with_options(options), policy, share, lambda _: 0)


def test_gaussian_noise_pays_for_the_euclidean_move(tmp_path: Path) -> None:
    """Of a key with G values the room of T rows is T // G in each: √G times that, and not T."""
    data = random_data(0, lines=40)
    policy = shop_of_two(tmp_path, data)
    plans = [_gaussian(text, policy) for text in STATEMENTS[3:7]]
    whole = _exact(tmp_path, data, plans)
    reached = Fraction(0)
    for _, without in neighbours(data):
        found = _exact(tmp_path, without, plans)
        for own, one, other in zip(plans, whole, found, strict=True):
            for release, before, after in zip(own.releases, one, other, strict=True):
                moved = int(((before - after) ** 2).sum())
                assert isinstance(release.mechanism, Gaussian)
                assert moved <= release.mechanism.squared
                reached = max(reached, Fraction(moved, release.mechanism.squared))
    assert reached > Fraction(1, 2)


LINES = "lines l JOIN orders o ON l.order_id = o.id JOIN suppliers s ON l.supplier_id = s.id"
REFUSED = [
    ("SELECT COUNT(*) FROM (SELECT supplier_id AS s FROM lines UNION ALL SELECT supplier_id"
     " FROM lines) u JOIN suppliers ON suppliers.id = u.s", "", ""),
    ("SELECT SUM(n) FROM (SELECT RANK() OVER (PARTITION BY s ORDER BY a) AS n FROM"
     " (SELECT supplier_id AS s, amount AS a FROM lines UNION ALL SELECT supplier_id, amount"
     " FROM lines) u) t", "", ""),
    ("SELECT AVG(n) FROM (SELECT s, COUNT(*) AS n FROM (SELECT supplier_id AS s FROM lines"
     " UNION ALL SELECT supplier_id FROM lines) u GROUP BY s) t", "", ""),
    ("SELECT MAX(amount) FROM lines", "MAX of rows of a customer and a supplier", "COUNT(*) FILTER"),
    ("SELECT MEDIAN(amount) FROM messages", "QUANTILE of rows of two persons", "COUNT(*) FILTER"),
    ("SELECT MODE(product) FROM lines", "MODE of rows", "COUNT, SUM and AVG"),
    ("SELECT VARIANCE(amount) FROM lines", "VAR SAMP of rows", "COUNT, SUM and AVG"),
    ("SELECT COUNT(DISTINCT product) FROM lines", "COUNT DISTINCT of rows", "COUNT(*)"),
    ("SELECT product, COUNT(*) FROM lines GROUP BY product", "", ""),
    ("SELECT supplier_id, COUNT(*) FROM lines WHERE supplier_id < 3 GROUP BY supplier_id",
     "names a unit", "a column with declared values"),
    (f"SELECT day, COUNT(*) FROM {LINES} GROUP BY ROLLUP(day)", "levels", "declare the values"),
    ("SELECT COUNT(*) FROM lines a JOIN lines b ON a.order_id = b.order_id",
     "a row of this join can belong to 4 units, 2 are possible", "join on a key, or count edges"),
    ("SELECT COUNT(*) FROM messages a JOIN messages b ON a.receiver = b.sender",
     "a row of this join can belong to 4 units", "count edges"),
    ("SELECT COUNT(*) FROM lines l JOIN orders o ON l.product = o.id",
     "a row of this join can belong to 3 units", "join on a key"),
    ("SELECT COUNT(*) FROM messages m JOIN suppliers s ON m.sender = s.id", "3 units", ""),
    ("SELECT COUNT(*) FROM lines l LEFT JOIN suppliers s ON l.supplier_id = s.id",
     "LEFT JOIN would tell", "use JOIN"),
    ("SELECT COUNT(*) FROM suppliers s LEFT JOIN lines l ON l.supplier_id = s.id",
     "LEFT JOIN would tell", "use JOIN"),
    ("SELECT COUNT(*) FROM lines l FULL JOIN suppliers s ON l.supplier_id = s.id", "", ""),
    ("SELECT COUNT(*) FROM lines l WHERE EXISTS (SELECT 1 FROM suppliers s"
     " WHERE s.id = l.supplier_id)", "EXISTS and IN would tell", "use JOIN"),
    ("SELECT COUNT(*) FROM suppliers WHERE id NOT IN (SELECT supplier_id FROM lines)", "", ""),
    ("SELECT AVG(n) FROM (SELECT supplier_id, COUNT(*) AS n FROM lines GROUP BY supplier_id) t",
     "GROUP BY in FROM", "as they are"),
    ("SELECT SUM(n) FROM (SELECT LAG(amount) OVER (PARTITION BY supplier_id ORDER BY amount) AS n"
     " FROM lines) t", "windows", "as they are"),
    ("SELECT COUNT(*) FROM (SELECT amount FROM lines UNION ALL SELECT amount FROM messages) t",
     "tables put together", "as they are"),
    ("SELECT COUNT(*) FROM (SELECT id FROM customers UNION ALL SELECT id FROM suppliers) t",
     "rows of a customer and a supplier", ""),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT supplier_id FROM lines) t", "", ""),
    ("SELECT COUNT(*) FROM customers c JOIN suppliers s ON c.id = s.id", "does not say", ""),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) nation, COUNT(*)"
     " FROM lines l JOIN suppliers s ON s.id = l.supplier_id GROUP BY nation", "", ""),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 'totals') SUM(amount) FROM lines",
     "what units add in all", "leave rows_per_unit out"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'staircase') COUNT(*) FROM lines",
     "other noise", "Laplace and Gaussian"),
]  # fmt: skip


def test_what_cannot_be_kept_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    session = Session(shop_of_two(tmp_path, random_data(1)))
    for text, message, hint in REFUSED:
        with pytest.raises(DpdbError) as refused:
            session.execute(text)
        assert message in refused.value.message, text
        assert hint in (refused.value.hint or ""), text
    assert session.last_balance.queries_left == 10_000


def test_a_minimum_of_units_is_for_rows_of_one_unit(tmp_path: Path) -> None:
    careful = POLICY.replace("[privacy]", "delta = 1e-6\n[privacy]\nminimum_units = 3")
    session = Session(shop_of_two(tmp_path, random_data(1), careful), noise=Noiseless())
    with pytest.raises(DpdbError, match="whether 3 units have rows of two persons"):
        session.execute("SELECT COUNT(*) FROM messages")
    assert session.execute("SELECT COUNT(*) FROM customers").cost.epsilon


def test_a_room_of_more_than_64_bits_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    """Engines hold what is left of each room as a number of 64 bits, whatever the rows are."""
    roomy = POLICY.replace("rows_per_unit = 2\n", "rows_per_unit = 3_100\n")
    session = Session(shop_of_two(tmp_path, random_data(1), roomy), noise=Noiseless())
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 9000) SUM(amount * {}) FROM messages"
    with pytest.raises(DpdbError, match="3100 values of up to 3000000000000000 steps") as refused:
        session.execute(text.format(10**15))
    assert "larger step, narrower bounds" in (refused.value.hint or "")
    assert session.last_balance.epsilon_left == 10_000
    assert session.execute(text.format(10**14)).cost.epsilon == 9_000


def _explained(folder: Path, policy: str, text: str) -> str:
    session = Session(shop_of_two(folder, random_data(1), policy))
    return "\n".join(session.execute(f"EXPLAIN {text}").notes)


def test_the_time_of_a_unit_is_that_of_the_rows_that_its_policy_lets_count(tmp_path: Path) -> None:
    """A lower cap in a query lowers no time."""
    roomy = POLICY.replace("{ customer = 3, supplier = 4 }", "1_000")
    capped = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 1) COUNT(*) FROM lines"
    )
    told = [_explained(tmp_path, roomy, each) for each in ("SELECT COUNT(*) FROM lines", capped)]
    rule = r"1000 rows of one customer or supplier can take ([\d.]+) ms"
    (alone,), (lower,) = (re.findall(rule, each) for each in told)
    assert lower == alone


def test_texts_of_two_units_are_as_long_as_declared_in_every_row(tmp_path: Path) -> None:
    """The rows of a supplier meet names of as many customers, which have no budget together."""
    roomy = POLICY.replace("{ customer = 3, supplier = 4 }", "1_000")
    names = 'nation = { type = "text" }', 'product = { type = "text" }'
    roomy = roomy.replace('nation = { type = "integer", values = [1, 2] }', names[0], 1)
    roomy = roomy.replace('product = { type = "integer" }', names[1], 1)
    joined = "lines l JOIN orders o ON o.id = l.order_id JOIN customers c ON c.id = o.customer_id"
    for source, column in ((joined, "nation"), ("lines", "product")):
        text = f"SELECT COUNT(*) FROM {source} WHERE {column} LIKE '%a%'"
        with pytest.raises(
            TooLarge, match="the rows of one customer or supplier can take"
        ) as refused:
            _explained(tmp_path, roomy, text)
        assert "declare a length in the policy, or a lower rows_per_unit" in (
            refused.value.hint or ""
        )
        short = roomy.replace('"text" }', '"text", length = 100 }')
        assert "rows of one customer or supplier can take" in _explained(tmp_path, short, text)


def test_filters_that_exclude_each_other_do_not_share_their_price(tmp_path: Path) -> None:
    """A supplier has rows under both, and each sum is filled by itself."""
    policy = shop_of_two(tmp_path, random_data(1))
    halves = "COUNT(*) FILTER (WHERE amount > 0), COUNT(*) FILTER (WHERE amount <= 0)"
    plan = planned(f"SELECT {halves} FROM lines", policy)
    assert plan.parallel == ()
    assert [each.mechanism.sensitivity for each in plan.releases] == [4, 4]
    assert plan.loss.epsilon == sum(each.mechanism.loss.epsilon for each in plan.releases)


def test_a_count_beside_an_average_has_a_room_and_a_share_of_its_own(tmp_path: Path) -> None:
    """Read from the parts of the average it would have the noise of three rooms of larger steps."""
    policy = shop_of_two(tmp_path, random_data(1))
    asked = planned("SELECT COUNT(*), AVG(amount) FROM messages", policy, together=True)
    count, *parts = asked.releases
    alone = planned("SELECT COUNT(*) FROM messages", policy).releases[0].mechanism
    assert isinstance(count.statistic, Count)
    assert len(parts) in (1, 2)
    assert count.mechanism.sensitivity == alone.sensitivity == 2
    assert 2 * count.mechanism.loss.epsilon == alone.loss.epsilon


def test_repeats_refinements_and_plans_pay_as_statements_do(tmp_path: Path) -> None:
    session = Session(shop_of_two(tmp_path, random_data(1)), noise=Noiseless())
    texts = ["SELECT COUNT(*) FROM lines", "SELECT SUM(amount) FROM lines WHERE amount > 0"]
    first = session.execute(texts[0])
    again = session.execute(texts[0])
    assert (again.cost.epsilon, again.rows) == (0, first.rows)
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {}, max_rows_contributed = {})"
    lower = session.execute(f"{options.format(1, 2)} COUNT(*) FROM lines")
    assert lower.cost.epsilon == 1  # another room is another sum
    assert [each.sensitivity for each in lower.releases] == [2]
    finer = session.execute(f"{options.format(3, 2)} COUNT(*) FROM lines")
    assert finer.rows == lower.rows
    before = session.last_balance.epsilon_left
    session.plan([(text,) for text in texts])
    assert before == session.last_balance.epsilon_left


def test_a_sum_is_not_read_from_an_average_with_more_noise(tmp_path: Path) -> None:
    """Both parts of an average have rooms of their own: five times the noise of the sum."""
    session = Session(shop_of_two(tmp_path, random_data(1)))
    finer = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 3) SUM(amount) FROM lines"
    told = session.execute(finer).rows
    session.execute("SELECT AVG(amount) FROM lines")
    again = session.execute("SELECT SUM(amount) FROM lines")
    assert (again.cost.epsilon, again.rows) == (0, told)
    assert session.execute("SELECT COUNT(amount) FROM lines").cost.epsilon == 1


# Each row is a statement over lines (customer, supplier, amount) and suppliers (id), a table in
# which it does not keep the subset rule, and the supplier who leaves it.
BROKEN = {
    "LEFT JOIN": (
        "SELECT l.customer, 6, o.amount FROM lines l LEFT JOIN lines o"
        " ON o.customer = l.customer AND o.supplier = 5 WHERE l.supplier = 6",
        [(1, 5, 2), (1, 6, 2)],
        5,
    ),
    "EXISTS": (
        "SELECT * FROM lines l WHERE NOT EXISTS (SELECT 1 FROM lines o"
        " WHERE o.customer = l.customer AND o.supplier <> l.supplier)",
        [(1, 5, 2), (1, 6, 2)],
        6,
    ),
    "windows": (
        "SELECT customer, supplier, RANK() OVER (PARTITION BY customer ORDER BY supplier)"
        " FROM lines",
        [(1, 5, 2), (1, 6, 2)],
        5,
    ),
    "GROUP BY in FROM": (
        "SELECT customer, 6, COUNT(*) FROM lines GROUP BY customer",
        [(1, 5, 2), (1, 6, 2)],
        5,
    ),
    "LIMIT": ("SELECT * FROM lines ORDER BY supplier LIMIT 1", [(1, 5, 2), (1, 6, 2)], 5),
    "DISTINCT": ("SELECT DISTINCT 1, 6, amount FROM lines", [(1, 5, 2), (1, 5, 2)], 5),
    "UNION": ("SELECT 1, 6, amount FROM lines UNION SELECT 1, 6, 2", [(1, 5, 3)], 5),
}
KEPT = {
    "JOIN": "SELECT l.* FROM lines l JOIN suppliers s ON l.supplier = s.id",
    "WHERE": "SELECT * FROM lines WHERE amount > 1",
    "UNION ALL": "SELECT * FROM lines UNION ALL SELECT * FROM lines WHERE amount > 1",
}


def _lite(text: str, lines: list[tuple[int, int, int]], without: int | None = None) -> list[object]:
    """The rows of a statement, without all rows of a supplier."""
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE lines (customer, supplier, amount)")
    lite.execute("CREATE TABLE suppliers (id, nation)")
    lite.executemany("INSERT INTO lines VALUES (?, ?, ?)", [r for r in lines if r[1] != without])
    lite.executemany("INSERT INTO suppliers VALUES (?, 1)", [(i,) for i in (5, 6) if i != without])
    return sorted(lite.execute(text).fetchall())


@pytest.mark.parametrize("word", BROKEN)
def test_what_is_refused_does_not_keep_the_rows_of_others(word: str) -> None:
    text, lines, unit = BROKEN[word]
    left = [row for row in _lite(text, lines) if row[1] != unit]
    assert left != _lite(text, lines, without=unit)


@pytest.mark.parametrize("word", KEPT)
def test_what_is_answered_keeps_the_rows_of_others(word: str) -> None:
    lines = [(1, 5, 2), (1, 6, 2), (2, 5, 1), (2, 6, 3)]
    for unit in (5, 6):
        left = [row for row in _lite(KEPT[word], lines) if row[1] != unit]
        assert left == _lite(KEPT[word], lines, without=unit)
