"""What is done with an exact result hangs on its value alone, which noise then hides.

Statements run on neighbouring files with every exact result overwritten by one
constant, in whatever representation it came: the rows are then seen through
nothing but that representation, and every byte that is printed must be the same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.answers import estimates
from dpdb.answers.formats.render import FORMATS
from dpdb.engines.protocol import Exact
from dpdb.engines.statistics import accumulators, statistics
from dpdb.interfaces.cli import main as cli
from dpdb.plan.ranges.statistics import Total
from dpdb.privacy.noise import exponential, smooth, thresholds
from dpdb.privacy.noise.system import SystemNoise
from dpdb.vectors.vector import Vector
from tests.sql.test_corpora import ACCEPTED
from tests.support.noiseless import Noiseless
from tests.support.planned_once import planned_once
from tests.support.tables import HERE, PEOPLE
from tests.system.test_transcript import QUERIES

POLICY = """
[tables.t]
path = "t.csv"
[tables.t.columns]
id = { type = "integer", bounds = [0, 1000] }
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
income = { type = "number", bounds = [-9007199254740992, 9007199254740992] }
zip = { type = "integer", values = [10001, 10002] }
city = { type = "text", values = ["Rome", "Oslo"] }
smoker = { type = "boolean" }
born = { type = "date" }
"""
ROWS = 512
LARGE = (2**53 // ROWS, 2**53, 2**62 // ROWS, 2**62 // ROWS + 1, 2**63 // ROWS)
"""With 511 and 512 rows their sums lie on either side of 2^53, 2^62 and 2^63."""
SHAPES = [
    "SELECT SUM({x}) + 0 = SUM({x}) AS leak FROM t",
    "SELECT SUM(-{x}) + 0 = SUM(-{x}), SUM({x}), SUM({x}) % 7, ROUND(SUM({x}), -3) FROM t",
    "SELECT COUNT(*), AVG({x}), SUM(CASE WHEN age > 30 THEN {x} ELSE -{x} END) FROM t",
    "SELECT SUM({x}) > 9007199254740993, SUM({x}) IN (0, 5), COALESCE(SUM({x}), 0.5) FROM t",
    "SELECT CAST(SUM({x}) AS TEXT), CAST(SUM({x}) AS BOOLEAN), GREATEST(SUM({x}), 5) FROM t",
    "SELECT zip, SUM({x}) AS s FROM t GROUP BY zip HAVING s = s + 0 ORDER BY s DESC LIMIT 1",
    "SELECT COUNT(*) FROM t WHERE age < (SELECT SUM({x}) FROM t)",
    "SELECT COUNT(*) FROM t WHERE (SELECT SUM({x}) + 1 FROM t) < 9007199254740993",
    "SELECT SUM(income), SUM(income) + 0 = SUM(income), SUM(income + {x}) FROM t",
    "SELECT zip, SUM(income) = SUM(income) + 0, VARIANCE(age), AVG(income) FROM t GROUP BY zip",
]
ENOUGH = "SET epsilon = 40"
"""Planning refuses noise that would not fit 64 bits."""
EXTREME = [shape.format(x=x) for shape in SHAPES for x in LARGE]
# What is set would be so for all statements that follow.
SOME = [statement for statement in ACCEPTED if not statement.startswith("SET ")][::4]
"""Every fourth statement of the corpora; `tests.long.test_transcripts` asks all of them."""
STATEMENTS = ";\n".join([ENOUGH, *EXTREME, "SET epsilon = 1", *SOME, QUERIES])
FORMS = [form for form in FORMATS if form != "json"]
CONSTANTS = (2**53 + 1, -(2**60) - 1)


def _files(folder: Path, rows: int, *, abel: bool) -> Path:
    """Three tables; the neighbour has a row less of each that statements speak of."""
    folder.mkdir()
    lines = [
        f"{i},n{i % 40},{20 + i % 60},{2**53 if i % 3 else -(2**52) + i},{10001 + i % 2},"
        f"{['Rome', 'Oslo'][i % 2]},{['true', 'false'][i % 2]},19{40 + i % 60}-02-17"
        for i in range(rows)
    ]
    header = "id,name,age,income,zip,city,smoker,born"
    (folder / "t.csv").write_text("\n".join([header, *lines]) + "\n")
    people = PEOPLE.with_suffix(".csv").read_text().splitlines(keepends=True)[: 1 + rows]
    visits = (HERE / "visits.csv").read_text().splitlines(keepends=True)
    if not abel:
        people, visits = people[:-1], visits[:-1]
    (folder / "people.csv").write_text("".join(people))
    (folder / "visits.csv").write_text("".join(visits))
    tables = [path.read_text() for path in (PEOPLE, HERE / "visits.toml")]
    declared = [text[text.index("[tables.") :] for text in tables]
    (folder / "all.toml").write_text("\n".join([*declared, POLICY]))
    return folder / "all.toml"


class Overwriting:
    """Makes exact results that hold a constant, and remembers how they were represented."""

    def __init__(self, constant: int):
        self.constant = constant
        self.representations: list[object] = []

    def __call__(self, cells: object) -> Exact:
        exact = Exact(cells)  # type: ignore[arg-type]
        if isinstance(exact.cells, list):
            self.representations.append([each.dtype for each in exact.cells])
            # Of ranks the number is exact, too. Their selection is not what is tested.
            return Exact([np.zeros(3, dtype=each.dtype) for each in exact.cells])
        self.representations.append((exact.cells.dtype, exact.cells.shape))
        return Exact(np.full_like(exact.cells, self.constant))


@pytest.fixture(scope="module", autouse=True)
def _planned_once() -> Iterator[None]:
    with planned_once():
        yield


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, of every selection the middle, and of the keys that are found the first."""
    for name in ("laplace", "gaussian"):
        monkeypatch.setattr(SystemNoise, name, lambda self, scale, size: np.zeros(size, np.int64))
    monkeypatch.setattr(SystemNoise, "below", lambda self, bound: Noiseless().below(bound))
    middle = lambda values, grid, *rest: (grid[0] + grid[1]) // 2  # noqa: E731
    monkeypatch.setattr(exponential, "select_value", middle)
    monkeypatch.setattr(exponential, "select_index", lambda counts, *rest: 0)
    monkeypatch.setattr(smooth, "release", middle)
    monkeypatch.setattr(thresholds, "select_keys", _first_key)


def _first_key(counts: Counts, *_: object) -> tuple[npt.NDArray[np.intp], Counts]:
    """Its number of units is one constant, as exact results are: a key is shown by its noise."""
    return np.arange(min(1, len(counts))), np.full_like(counts[:1], 1000)


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("coupled")
    return _files(folder / "with", ROWS, abel=True), _files(folder / "less", ROWS - 1, abel=False)


Counts = npt.NDArray[np.int64]
Transcript = tuple[int, str, str, list[object]]


@pytest.fixture
def transcripts(
    neighbours: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str, int, str], Iterator[Transcript]]:
    """Exit code, standard output and error, and representations, for each of the files."""

    def run(statements: str, constant: int, form: str) -> Iterator[Transcript]:
        for policy in neighbours:
            # In one place after the other, so that both files have the same policy.
            here = shutil.copytree(policy.parent, policy.parents[1] / "here", dirs_exist_ok=True)
            overwriting = Overwriting(constant)
            monkeypatch.setattr(accumulators, "Exact", overwriting)
            options = ["--format", form, "--on-error", "continue", "--epsilon", "10000"]
            options += ["--queries", "10000", "--delta", "0.001"]
            code = cli.main([str(here / policy.name), "-c", statements, *options])
            captured = capsys.readouterr()
            yield code, captured.out, captured.err, overwriting.representations

    return run


def are_the_same(one: Transcript, other: Transcript) -> None:
    for mine, yours in zip(one[1].splitlines(), other[1].splitlines(), strict=True):
        assert mine == yours
    assert one == other


def test_no_byte_hangs_on_how_a_result_is_held(transcripts) -> None:
    one, other = transcripts(STATEMENTS, CONSTANTS[0], "json")
    are_the_same(one, other)
    are_answered(one)


def test_nor_on_how_a_negative_one_is_held(transcripts) -> None:
    are_the_same(*transcripts(";\n".join([ENOUGH, *EXTREME, QUERIES]), CONSTANTS[1], "json"))


@pytest.mark.parametrize("form", FORMS)
def test_no_byte_of_what_is_printed_does(transcripts, form: str) -> None:
    """Each way to print has its share of the statements: JSON, with more in it, has them all."""
    share = slice(FORMS.index(form), None, len(FORMS))
    statements = [ENOUGH, *EXTREME[share], "SET epsilon = 1", *SOME[share]]
    one, other = transcripts(";\n".join(statements), CONSTANTS[0], form)
    are_the_same(one, other)


def are_answered(one: Transcript) -> None:
    """Without this, equal transcripts could be of the same early failure."""
    failed = [json.loads(line)["statement"] for line in one[1].splitlines() if '"error"' in line]
    assert len(failed) < 30, failed
    assert "dpdb failed" not in one[1] + one[2]
    assert {kind for found in one[3] if isinstance(found, tuple) for kind in found[:1]} == {
        np.dtype(np.int64),
        np.dtype(object),
    }


def _old_total(self: statistics.Statistics, statistic: Total) -> np.ndarray:
    """The type follows the sum."""
    total = _NEW_TOTAL(self, statistic)
    small = all(abs(int(value)) < 2**62 for value in total)
    return total.astype(np.int64 if small else object)


_NEW_TOTAL = statistics.Statistics._total
LEAK = f"{ENOUGH}; {SHAPES[0].format(x=2**62 // ROWS)}"


def test_the_old_representation_would_be_found(transcripts, monkeypatch) -> None:
    monkeypatch.setattr(statistics.Statistics, "_total", _old_total)
    one, other = transcripts(LEAK, 5, "json")
    assert one != other


def test_the_old_leak_would_be_printed(transcripts, monkeypatch) -> None:
    """The type follows the sum, and is kept to the end."""
    monkeypatch.setattr(statistics.Statistics, "_total", _old_total)
    monkeypatch.setattr(Vector, "__post_init__", lambda vector: None)
    monkeypatch.setattr(estimates, "read", lambda reading, draws: draws[min(reading.releases)])
    unrounded = SimpleNamespace(**vars(np) | {"rint": lambda whole: whole})
    monkeypatch.setattr(estimates, "np", unrounded)
    monkeypatch.setattr(estimates, "scaled", lambda units, step: units)
    monkeypatch.setattr(estimates, "numbers", Vector)
    # Python compares 2^53 + 1 with a double exactly, and numpy rounds it to 2^53 before.
    compared = f"{ENOUGH}; SELECT SUM({2**62 // ROWS}) = {2**53} AS leak FROM t"
    one, other = transcripts(compared, 2**53 + 1, "csv")
    assert (one[0], other[0]) == (0, 0)
    assert one[1] != other[1]
