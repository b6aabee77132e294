"""A query reads the columns that it names, and each of them once in a session."""

import os
from unittest.mock import PropertyMock, patch

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.cells import builders, records
from dpdb.errors import DataFileError
from dpdb.policy.reading.reader import policy_for
from dpdb.privacy.noise.sources import seeded
from dpdb.session.session import Session
from tests.support.exactly import exactly, write

ROWS = "name,age,zip,income,born\n" + "".join(
    f"n{n % 7},{20 + n % 40},{n % 3},{n * 10}.50,19{n % 90 + 10}-01-01\n" for n in range(100)
)
POLICY = """
[budget]
epsilon = 1000
queries = 1000
[privacy]
neighbors = "{neighbors}"
[tables.t]
path = "t.csv"
{unit}
[tables.t.columns]
name = {{ type = "text", values = ["n0", "n1"] }}
age = {{ type = "integer", bounds = [18, 65] }}
zip = {{ type = "integer", values = [0, 1, 2] }}
income = {{ type = "number", bounds = [0, 1000], step = 0.01 }}
born = {{ type = "date", bounds = ["1900-01-01", "2000-01-01"] }}
"""
STATEMENTS = [
    ("SELECT COUNT(*) FROM t", set()),
    ("SELECT AVG(age) FROM t", {"age"}),
    ("SELECT COUNT(*) FROM t WHERE NAME = 'n1'", {"name"}),
    ("SELECT zip, COUNT(*) FROM t GROUP BY zip", {"zip"}),
    ("SELECT zip, COUNT(*) FROM t WHERE age > 30 GROUP BY zip", {"zip", "age"}),
    ("SELECT COUNT(*) FILTER (WHERE born < DATE '1950-01-01') FROM t", {"born"}),
    ("SELECT SUM(CASE WHEN zip = 1 THEN income ELSE age END) FROM t", {"zip", "income", "age"}),
    ("SELECT MEDIAN(income), MODE(name) FROM t", {"income", "name"}),
    ("SELECT COUNT(DISTINCT zip), STDDEV(age) FROM t", {"zip", "age"}),
    ("SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(income) FROM t)", {"age", "income"}),
    ("SELECT zip AS age, COUNT(*) AS name FROM t GROUP BY zip ORDER BY 2", {"zip"}),
    ("EXPLAIN SELECT SUM(income) FROM t", set()),
    ("SHOW TABLES", set()),
]


@pytest.fixture(params=["add-remove", "replace"])
def policy(tmp_path, request):
    return write(tmp_path, "t", ROWS, POLICY.format(neighbors=request.param, unit=""))


class Read:
    """The names of the columns for which a builder was made, in order."""

    def __init__(self):
        self.names = []

    def __enter__(self):
        whole = builders.builder

        def counting(column, **options):
            self.names.append(column.name)
            return whole(column, **options)

        self._patch = patch.object(builders, "builder", counting)
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()


@pytest.mark.parametrize(("statement", "names"), STATEMENTS)
def test_a_statement_reads_what_it_names(policy, statement, names):
    with Read() as read:
        Session(policy, noise=seeded(1)).execute(statement)
    assert set(read.names) == names
    assert len(read.names) == len(names)


def test_a_column_is_read_once_in_a_session(policy):
    session = Session(policy, noise=seeded(1))
    with Read() as read:
        for statement, _ in STATEMENTS:
            session.execute(statement)
    assert sorted(read.names) == ["age", "born", "income", "name", "zip"]


def test_answers_are_those_of_everything_read_at_once(policy):
    everything = MemoryEngine()
    everything._loaded(
        policy.tables[0], frozenset(column.name for column in policy.tables[0].columns)
    )
    by_and_by = MemoryEngine()
    for statement, _ in STATEMENTS[:-2]:
        wanted = exactly(statement, policy, everything)
        assert exactly(statement, policy, by_and_by) == wanted
        assert exactly(statement, policy, MemoryEngine()) == wanted


def test_without_a_policy_nothing_else_is_read(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    with Read() as read:
        Session(policy_for(tmp_path / "t.csv")).execute("SELECT COUNT(*) FROM t WHERE age > 30")
    assert read.names == ["age"]


def test_of_a_table_with_units_all_that_is_declared_is_read(tmp_path):
    unit = 'unit = "name"\nrows_per_unit = 2'
    policy = write(tmp_path, "t", ROWS, POLICY.format(neighbors="add-remove", unit=unit))
    session = Session(policy, noise=seeded(1))
    with Read() as read:
        session.execute("SELECT COUNT(*) FROM t")
        session.execute("SELECT AVG(age) FROM t")
    assert sorted(read.names) == ["age", "born", "income", "name", "zip"]


def _grown(path):
    path.write_text(path.read_text() + "n0,20,1,5,1950-01-01\n")


def _changed(path):
    path.write_text(path.read_text().replace("n1", "n2"))
    os.utime(path, ns=(1, 1))


def _replaced(path):
    times = path.stat().st_mtime_ns
    copy = path.with_suffix(".new")
    copy.write_text(path.read_text())
    os.utime(copy, ns=(times, times))
    copy.replace(path)


@pytest.mark.parametrize("change", [_grown, _changed, _replaced])
def test_a_file_that_changes_in_a_session_is_refused(policy, change):
    path = policy.tables[0].path
    session = Session(policy, noise=seeded(1))
    session.execute("SELECT AVG(age) FROM t")
    change(path)
    session.execute("SELECT SUM(age), COUNT(*) FROM t")
    with pytest.raises(DataFileError, match=r"t\.csv has changed since it was first read"):
        session.execute("SELECT AVG(income) FROM t")


def test_of_many_columns_one_is_read(tmp_path):
    names = [f"c{n}" for n in range(20_000)]
    line = ",".join("7" for _ in names)
    (tmp_path / "t.csv").write_text(f"{','.join(names)}\n{line}\n")
    policy = policy_for(tmp_path / "t.csv")
    with Read() as read:
        [[count]] = exactly("SELECT COUNT(*) FROM t WHERE c19999 = '7'", policy)
    assert count == 1
    assert read.names == ["c19999"]


def test_rows_are_counted_without_looking_for_cells(policy):
    unasked = PropertyMock(side_effect=AssertionError)
    with patch.object(records.Block, "_cells", unasked):
        Session(policy, noise=seeded(1)).execute("SELECT COUNT(*) FROM t")
    unasked.assert_not_called()
