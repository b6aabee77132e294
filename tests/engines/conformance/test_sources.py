"""One table in a CSV file, other files and on a server: the same columns and answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow
import pytest

from dpdb.answers.formats.json_lines import as_json
from dpdb.engines import streams
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.opening import open_source
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.frames import held_frame
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array
from tests.sql.test_corpora import ACCEPTED, QUERIES, SHOP_ACCEPTED, first_word
from tests.support import rows_of_two
from tests.support.cell_files import write_cells
from tests.support.exactly import raw
from tests.support.noiseless import Noiseless
from tests.support.postgres import Server, running_server
from tests.support.rows_of_two import random_data, searched, shop_of_two
from tests.support.storages import ALL_KINDS, CELLS, FRAMES, POSTGRESQL, frame_of, in_storage
from tests.support.streams import SmallBlocks
from tests.support.tables import HERE, PEOPLE
from tests.support.two_engines import HEADER, POLICY, random_cells
from tests.support.typed_files import write_typed

SHOP = PEOPLE.parent / "shop" / "shop.toml"
WIDTH = HEADER.count(",") + 1
HOSTILE = ["1699-12-31 23:59:59", "2020-01-01T24:00", "2020-01-01 01:02:03.1234567+05:30",
           "", "NaN", "1e400", "-1.7e308", "5e-324", "9007199254740993", "-9223372036854775809",
           " 7 ", "7.5", "-0", "0000-01-01", "9999-12-31", "2001-02-30", "TRUE", "f", "NULL",
           '"a ""b"", c"', '"a\nb"', "x" * 10_001, "a\0b", "\ufeff5", "٣"]  # fmt: skip


def hostile_policy(folder: Path, unit: str, *, blank: bool) -> Policy:
    """A table of random rows, and of rows that have the same odd cell everywhere.

    A sheet has no blank rows.
    """
    chance = random.Random(3)
    lines = [",".join([str(at), *map(quoted, random_cells(chance))]) for at in range(40)]
    lines += [",".join([cell] * WIDTH) for cell in HOSTILE if blank or 0 < len(cell) <= 10_000]
    content = "\n".join([HEADER, *lines, ""]).encode() + b",".join([b"\xff\xfe"] * WIDTH)
    (folder / "t.csv").write_bytes(content)
    (folder / "t.toml").write_text(POLICY.replace("[tables.t.", f"[tables.t]\n{unit}\n[tables.t."))
    return read_policy(folder / "t.toml")


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


class Elsewhere(Protocol):
    """The policy over sources of another kind, with the rows of its own files."""

    def __call__(self, policy: Policy, folder: Path, kind: str) -> Policy: ...


@pytest.fixture(scope="module")
def elsewhere(request: pytest.FixtureRequest) -> Elsewhere:
    def every(policy: Policy, folder: Path, kind: str) -> Policy:
        def server() -> Server:
            return request.getfixturevalue("server")

        moved = (in_storage(table, folder, kind, server) for table in policy.tables)
        return replace(policy, tables=tuple(moved))

    return every


def assert_same_columns(policy: Policy, other: Policy) -> None:
    """The same values to the type, so that no answer can tell the sources apart."""
    for table, twin in zip(policy.tables, other.tables, strict=True):
        names = [column.name for column in table.columns]
        held, found = open_source(table).load(names), open_source(twin).load(names)
        assert held.rows == found.rows
        for name in names:
            one, two = held.columns[name], found.columns[name]
            assert type(one) is type(two)
            if isinstance(one, Numbers):
                assert (one.step, one.filler) == (two.step, two.filler)
                pairs = [(one.units, two.units), (one.null, two.null)]
            else:
                # Texts are in no order, and so each source has codes of its own for them.
                assert {*one.values} == {*two.values}
                assert one.codes.dtype == two.codes.dtype
                pairs = [(cells_of(one), cells_of(two))]
            for left, right in pairs:
                assert (left is None) == (right is None)
                if left is not None:
                    assert left.dtype == right.dtype
                    assert np.array_equal(left, right), name


def cells_of(column: Codes) -> Array:
    """The value of each cell; None for NULL."""
    return np.array([*column.values, None], dtype=object)[column.codes]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("unit", ["", 'unit = "t"'])
def test_hostile_cells_are_the_same_columns(
    elsewhere: Elsewhere, tmp_path: Path, unit: str, kind: str
) -> None:
    policy = hostile_policy(tmp_path, unit, blank=kind != "xlsx")
    assert_same_columns(policy, elsewhere(policy, tmp_path, kind))


TEXTS = ["w", "é", '"', "€", "\n"]


@pytest.mark.parametrize("kind", [None, *ALL_KINDS])
@pytest.mark.parametrize("streams", [False, True])
def test_the_limit_on_a_text_is_on_its_bytes(
    elsewhere: Elsewhere, tmp_path: Path, kind: str | None, streams: bool
) -> None:
    """Not on its characters, nor on the quotes that a file needs to write it."""
    rows, wanted = [], []
    for sign, size in product(TEXTS, (9_999, 10_000, 10_001)):
        signs, rest = divmod(size, len(sign.encode()))
        rows.append(sign * signs + "w" * rest)
        wanted.append(rows[-1] if size <= 10_000 else None)
    (tmp_path / "t.csv").write_text("t\n" + "".join(f"{quoted(row)}\n" for row in rows))
    engine = 'engine = "stream"\n' if streams else ""
    (tmp_path / "t.toml").write_text(
        f'[budget]\nqueries = 100\n[tables.t]\n{engine}[tables.t.columns]\nt = {{ type = "text" }}\n'
    )
    policy = read_policy(tmp_path / "t.toml")
    if kind in FRAMES:
        frame = held_frame(frame_of(pyarrow.table({"t": rows}), kind))
        policy = replace(policy, tables=(replace(policy.tables[0], frame=frame),))
    elif kind in CELLS:
        path = write_cells(tmp_path / f"t{CELLS[kind]}", pyarrow.table({"t": rows}))
        policy = replace(policy, tables=(replace(policy.tables[0], path=path),))
    elif kind == "zip":
        policy = elsewhere(policy, tmp_path, kind)
    elif kind is not None and kind != POSTGRESQL:
        columns = pyarrow.table({"t": rows})
        moved = replace(policy.tables[0], path=write_typed(tmp_path, "t", columns, kind))
        policy = replace(policy, tables=(moved,))
    elif kind is not None:
        [table] = elsewhere(policy, tmp_path, kind).tables
        assert table.server is not None
        policy = replace(policy, tables=(table,))
    [table] = policy.tables
    assert cells_of(open_source(table).load(["t"]).columns["t"]).tolist() == wanted
    session = Session(policy, noise=Noiseless())
    for condition, number in [
        ("t IS NULL", 5),
        ("t >= ''", 10),
        ("CONTAINS(t, 'é')", 2),
        ("t LIKE 'ww%'", 2),
    ]:
        asked = f"SELECT COUNT(*) FROM t WHERE {condition}"
        assert list(session.execute(asked).rows) == [(number,)], condition


Corpora = Callable[[str, str], tuple[Policy, Policy]]


@pytest.fixture(scope="module")
def corpora(elsewhere: Elsewhere, tmp_path_factory: pytest.TempPathFactory) -> Corpora:
    """By corpus and kind of source the policies over CSV files and over others."""
    people = (*read_policy(PEOPLE).tables, *read_policy(HERE / "visits.toml").tables)
    budget = Budget(Fraction(10_000), Fraction(1, 10), 100_000)
    policies = {
        "accept": Policy(people, budget),
        "accept_shop": replace(read_policy(SHOP), budget=budget),
    }

    @cache
    def both(name: str, kind: str) -> tuple[Policy, Policy]:
        return policies[name], elsewhere(policies[name], tmp_path_factory.mktemp(name), kind)

    return both


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("name", ["accept", "accept_shop"])
def test_the_tables_of_the_corpora_are_the_same_columns(
    corpora: Corpora, name: str, kind: str
) -> None:
    assert_same_columns(*corpora(name, kind))


@pytest.mark.parametrize(
    ("name", "kind", "statements"),
    [
        ("accept", "parts", ACCEPTED[::10]),
        ("accept_shop", "duckdb", SHOP_ACCEPTED[::15]),
        ("accept_shop", POSTGRESQL, SHOP_ACCEPTED[7::15]),
    ],
)
def test_answers_are_the_same_bytes(
    corpora: Corpora, name: str, kind: str, statements: list[str]
) -> None:
    """Of some statements of the corpora, without noise; as the columns are equal, so are all."""
    sessions = [Session(policy, noise=Noiseless()) for policy in corpora(name, kind)]
    for text in statements:
        if first_word(text) in QUERIES:
            one, two = (as_json(session.execute(text)) for session in sessions)
            assert one == two, text


@pytest.mark.parametrize("kind", ["parquet", "duckdb", POSTGRESQL, "frame", "sqlite"])
def test_rows_of_two_units_fill_the_same_sums(
    tmp_path: Path, elsewhere: Elsewhere, kind: str
) -> None:
    policy = shop_of_two(tmp_path, random_data(7, lines=60))
    twin = elsewhere(policy, tmp_path, kind)
    memory, other = MemoryEngine(tables=policy.tables), SmallBlocks(tables=twin.tables)
    for text in rows_of_two.STATEMENTS:
        assert raw(text, twin, other) == raw(text, policy, memory), text
    for text in rows_of_two.FINDING:
        assert searched(text, twin, other) == searched(text, policy, memory), text


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", POSTGRESQL])
def test_no_unit_of_two_kinds_moves_an_answer_by_more_than_noise_pays_for(
    tmp_path: Path, elsewhere: Elsewhere, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "TURN", 100)  # rows of files are gathered block by block

    def moved(policy: Policy, folder: Path) -> Policy:
        return policy if kind == "csv" else elsewhere(policy, folder, kind)

    largest = rows_of_two.largest_moves(moved, tmp_path)
    assert max(largest) == 1
    assert min(largest) > 0, largest
