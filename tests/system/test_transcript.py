"""Everything but the noisy value is a function of the query and the policy.

Noise is replaced by values that drown the exact ones: what is drawn is then the
same for all rows, and so must be every byte that is printed, and the exit code.
The queries run on pairs of files that differ in one row or in all of them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.errors import InvalidOption, StatementError
from dpdb.interfaces.cli import main as cli
from dpdb.policy.budget import Budget
from dpdb.policy.reading.reader import policy_for
from dpdb.privacy.noise import box, ends, exponential, halves, smooth, staircase, thresholds
from dpdb.privacy.noise import refinement as gradual
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from dpdb.sql.text.splitting import split
from tests.support.hostile_rows import BENIGN, CHANGES_ROWS, HEADER, HOSTILE, WORST
from tests.support.noiseless import Noiseless
from tests.support.planned_once import planned_once

POLICIES = {
    "declared": """
        [privacy]
        neighbors = "{neighbors}"
        [tables.t.columns]
        id = {{ type = "integer", bounds = [0, 1000]{null} }}
        name = {{ type = "text"{null} }}
        age = {{ type = "integer", bounds = [0, 120]{null} }}
        income = {{ type = "number", bounds = [-100, 1000000], step = 0.01{null} }}
        zip = {{ type = "integer", values = [10001, 10002, 10003]{null} }}
        city = {{ type = "text", values = ["Rome", "Oslo", "Lima"]{null} }}
        smoker = {{ type = "boolean"{null} }}
        born = {{ type = "date", bounds = [1900-01-01, 2020-12-31]{null} }}
        """,
    "no values": """
        [privacy]
        neighbors = "{neighbors}"
        [tables.t.columns]
        id = {{ type = "integer" }}
        name = {{ type = "text"{null} }}
        age = {{ type = "integer", bounds = [0, 120]{null} }}
        income = {{ type = "number" }}
        zip = {{ type = "integer", bounds = [0, 9007199254740992]{null} }}
        city = {{ type = "text"{null} }}
        smoker = {{ type = "text"{null} }}
        born = {{ type = "date" }}
        """,
    "units": """
        [privacy]
        neighbors = "{neighbors}"
        [tables.t]
        unit = "name"
        rows_per_unit = 16
        [tables.t.columns]
        name = {{ type = "text" }}
        age = {{ type = "integer", bounds = [-5, 120]{null} }}
        income = {{ type = "number", bounds = [0, 1e9], step = 1000{null} }}
        zip = {{ type = "integer", values = [10001, 10002, 10003]{null} }}
        city = {{ type = "text", values = ["Rome", "Oslo"]{null} }}
        smoker = {{ type = "boolean"{null} }}
        born = {{ type = "date", bounds = [1900-01-01, 2020-12-31]{null} }}
        id = {{ type = "number", bounds = [0, 1]{null} }}
        """,
    "none": None,
}
VARIANTS = [
    ("declared", "add-remove", True),
    ("declared", "replace", True),
    ("declared", "replace", False),
    ("no values", "add-remove", True),
    ("no values", "replace", False),
    ("units", "add-remove", True),
    ("units", "replace", False),
    ("none", "add-remove", True),
]
THOROUGH = [VARIANTS[0], VARIANTS[2], VARIANTS[7]]
"""Tried with every hostile row; all are tried with the worst."""
HANDFUL = 21
"""So many of the other hostile rows are in a file together; `make test-long` has them apart."""
TURNS = len(VARIANTS)
"""Of the worst rows each is in a file of its own for one variant, and among the others for the rest."""

USUAL = r"""
SELECT COUNT(*) FROM t;
SELECT COUNT(*), COUNT(name), COUNT(age), COUNT(DISTINCT name), COUNT(DISTINCT zip) FROM t;
SELECT SUM(age), AVG(age), VARIANCE(age), STDDEV(age), MIN(age), MAX(age), MEDIAN(age) FROM t;
SELECT SUM(income), AVG(income), MAX(income) FROM t WHERE age > 30;
SELECT AVG(income) FROM t; SELECT SUM(id) FROM t; SELECT MODE(city), MODE(zip) FROM t;
SELECT zip, COUNT(*), AVG(age) FROM t GROUP BY zip;
SELECT city, smoker, COUNT(*) FROM t GROUP BY city, smoker ORDER BY 3 DESC LIMIT 4;
SELECT name, COUNT(*) FROM t GROUP BY name;
SELECT zip, SUM(age) FROM t GROUP BY zip HAVING SUM(age) > 60 AND COUNT(*) > 0 ORDER BY SUM(age);
SELECT COUNT(*) FROM t HAVING COUNT(*) > 55;
SELECT SUM(zip) FROM t HAVING SUM(zip) > 1;
SELECT SUM(zip) AS s FROM t HAVING s IN (1, 50) OR s < 0 OR ABS(s) > 3;
SELECT AVG(born), MAX(born), COUNT(DISTINCT born) FROM t;
SELECT COUNT(*) FROM t WHERE 1 = 1;
SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t);
SELECT AVG(CLAMP(y, 0, 1)), COUNT(y) FROM (SELECT *, 1 / (age - 33) AS y FROM t WHERE name < 'Zoe');
WITH d AS (SELECT income, age > (SELECT AVG(age) FROM t) AS old FROM t WHERE name <> 'Zoe')
SELECT old, COUNT(*) FROM d WHERE income > (SELECT MIN(income) FROM d WHERE old) GROUP BY old;
WITH d AS (SELECT name FROM t) SELECT * FROM d; SELECT COUNT(*) FROM (SELECT name FROM t LIMIT 1);
SELECT SUM(CLAMP(1 / (age - 33), -1, 1)), COUNT(1 / (age - 33)) FROM t;
SELECT COUNT(*) FROM t WHERE 1 / (age - 33) > 0;
SELECT SUM(CLAMP(SQRT(age), 0, 9)), COUNT(LN(income)), COUNT(POWER(age, -0.5)) FROM t;
SELECT COUNT(*), AVG(YEAR(born)), COUNT(LAST_DAY(born + 900000000)) FROM t WHERE MONTH(born) < 7;
SELECT FLOOR(age / 50) AS f, smoker IS NULL, COUNT(*) FROM t GROUP BY f, smoker IS NULL;
SELECT SPLIT_PART(city, 'o', 1), COUNT(DISTINCT REPLACE(name, 'e', 'eee')) FROM t GROUP BY 1;
SELECT SUM(CLAMP(CAST(name AS INTEGER), 0, 9)), COUNT(CAST(name AS DOUBLE)) FROM t;
SELECT COUNT(CAST(name AS DATE)), COUNT(CAST(city AS BOOLEAN)), COUNT(CAST(age AS TEXT)) FROM t;
SELECT COUNT(CASE WHEN name = 'Zoe' THEN age * 1e300 * 1e300 * 1e300 END) FROM t;
SELECT SUM(CLAMP(CASE WHEN name = 'Zoe' THEN 1e200 * income * 1e200 ELSE 0 END, 0, 1)) FROM t;
SELECT SUM(CLAMP(CASE WHEN name = 'Zoe' THEN 1 / 0 ELSE age END, 0, 99)) FROM t;
SELECT COUNT(*) FROM t WHERE CASE WHEN name LIKE 'Z%' THEN age % 0 ELSE 1 END = 1;
SELECT COUNT(*) FROM t WHERE name LIKE '%a%a%a%a%a%a%a%a%b';
SELECT COUNT(*) FROM t WHERE name LIKE '%_a_b%' OR name LIKE '____' OR name LIKE '%!%' ESCAPE '!';
SELECT COUNT(*) FROM t WHERE LOWER(name) = 'zoe' OR UPPER(name) LIKE 'ZO_';
SELECT COUNT(DISTINCT SUBSTR(name, 2147483647)), COUNT(SUBSTR(name, -2147483647, 5)) FROM t;
SELECT COUNT(SUBSTR(name, 1, 2147483647)), SUM(CLAMP(LENGTH(name), 0, 10)) FROM t;
SELECT SUM(ROUND(income, 9)), SUM(CLAMP(ROUND(income, -9), 0, 1)), SUM(ROUND(age, 2)) FROM t;
SELECT SUM(age % 7), SUM(CLAMP(income % 0.1, 0, 1)), COUNT(income % age) FROM t;
SELECT COUNT(born + 100000000), COUNT(CAST(born + 900000000 AS TEXT)) FROM t;
SELECT COUNT(*) FROM t WHERE born + age > '2000-01-01' OR born - 1000000000 < '1999-01-01';
SELECT SUM(CLAMP(born - DATE '2000-01-01', -9, 9)), MIN(CAST(born AS INTEGER)) FROM t;
SELECT COUNT(*) FROM t WHERE name = NULL OR name IN ('a', NULL) OR NOT name BETWEEN NULL AND 'b';
SELECT COUNT(*) FROM t WHERE COALESCE('x', name) = 'x' AND COALESCE(TRUE, smoker = smoker);
SELECT SUM(COALESCE(1, zip)), SUM(COALESCE(zip, 1)), COUNT(NULLIF(name, city)) FROM t;
SELECT COUNT(*) FROM t WHERE zip = '10001';
SELECT COUNT(*) FROM t WHERE zip IN (10001, 99999) AND smoker AND city < 'Z';
SELECT SUM(GREATEST(age, income, 0)), COUNT(LEAST(age, NULL)) FROM t;
SELECT SUM(age) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE name IS NULL) FROM t;
SELECT SUM(CASE WHEN age BETWEEN 18 AND 30 THEN 1 WHEN city = 'Oslo' THEN 2 ELSE 0 END) FROM t;
SELECT COUNT(*) / SUM(age), ROUND(100.0 * COUNT(*) / (COUNT(*) - 50), 2), COUNT(*) % 7 FROM t;
SELECT SUM(CASE WHEN name = 'Zoe' THEN income END) FROM t;
SELECT SUM(CLAMP(name, 0, 10)), AVG(CLAMP(zip, 10000, 10010)) FROM t;
SELECT VARIANCE(income * 1000), SUM(age * 75000000000000) FROM t;
SELECT name FROM t; SELECT * FROM t; SELECT COUNT(*) FROM other; SELECT COUNT(nobody) FROM t;
SELECT DISTINCT name, zip FROM t; SELECT DISTINCT zip FROM t; SELECT CORR(age, id) FROM t;
SELECT zip, COUNT(*), RANK() OVER (ORDER BY COUNT(*)) FROM t GROUP BY ROLLUP(zip) ORDER BY 2;
SELECT MAX(n), AVG(n) FROM (SELECT name, COUNT(*) AS n FROM t GROUP BY name) AS d WHERE n > 1;
SELECT SUM(n) FROM (SELECT zip, COUNT(*) AS n FROM t GROUP BY zip) AS d WHERE n > 30;
SELECT COUNT(*) FROM t WHERE REGEXP_CONTAINS(name, '(a|aa)+b$') OR REGEXP_LIKE(city, '^\W');
SELECT COUNT(*), SUM(b.age) FROM t AS a JOIN t AS b ON a.name = b.name AND a.age < b.age;
SELECT COUNT(*) FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.name = a.name AND b.age > 33);
SELECT COUNT(*) FROM t AS a WHERE (SELECT SUM(age) FROM t AS b WHERE b.name = a.name) > 40;
EXPLAIN SELECT AVG(age), COUNT(DISTINCT name) FROM t WHERE name = 'Zoe';
EXPLAIN SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t);
SHOW TABLES; DESCRIBE t; SHOW BUDGET;
SELECT COUNT(*, report_format => 'JSON'), AVG(age, report_format => 'JSON') FROM t;
SELECT HISTOGRAM(smoker) FROM t; SELECT KURTOSIS(age) FROM t;
SELECT COUNT(*) FROM t; SHOW BUDGET
"""
ASKING = """
noise_index = [1, 10]: COUNT(*), SUM(age) FROM t
noise_index = [3, 1, 0.5]: zip, COUNT(*), SUM(age), COUNT(name) FROM t GROUP BY zip
noise_index = [1, 10]: AVG(age), SUM(age) FROM t
error = 3: COUNT(*) FROM t WHERE age > 33
error = 500, confidence = 0.99: zip, COUNT(*), SUM(age) FROM t GROUP BY zip
error = 40: AVG(age) FROM t
error = 5, mechanism = 'gaussian': COUNT(DISTINCT name), COUNT(*) FROM t
relative_error = 0.1: COUNT(*) FROM t
relative_error = 0.1: COUNT(*) FROM t WHERE name = 'Zoe'
relative_error = 0.3, epsilon = 2: zip, SUM(age) FROM t GROUP BY zip HAVING SUM(age) > 60
relative_error = 0.01, epsilon = 0.001: COUNT(DISTINCT name) FROM t
mechanism = 'gaussian': COUNT(*), SUM(age), AVG(age), VARIANCE(age), COUNT(DISTINCT zip) FROM t
mechanism = 'gaussian': zip, COUNT(*), AVG(age) FROM t GROUP BY zip ORDER BY 2 DESC
mechanism = 'gaussian': COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t)
sensitivity = 'smooth': MIN(age), MAX(age), MEDIAN(age), QUANTILE_CONT(age, 0.9) FROM t
sensitivity = 'smooth': MEDIAN(income), MAX(born), MEDIAN(CLAMP(1 / (age - 33), -1, 1)) FROM t
sensitivity = 'smooth', mechanism = 'gaussian': zip, MEDIAN(age), COUNT(*) FROM t GROUP BY zip
sensitivity = 'smooth': MEDIAN(age) FROM t WHERE name = 'Zoe'
"""
"""Queries that ask for more than an ε, each with its options."""
FINDING = """
bounds = 'find', epsilon = 400: AVG(age), SUM(income), VARIANCE(age) FROM t
bounds = 'find', epsilon = 300: AVG(zip) FROM t
bounds = 'find': VARIANCE(zip), SUM(income) FROM t WHERE name <> 'Zoe'
bounds = 'find', epsilon = 0.1: zip, AVG(age), COUNT(*) FROM t GROUP BY zip
bounds = 'find': MEDIAN(income), AVG(age / (age - 33)) FROM t
rows_per_unit = 'find': COUNT(*) FROM t
rows_per_unit = 'find': SUM(income) FROM t WHERE age > 33
rows_per_unit = 'find': zip, AVG(age), COUNT(*) FROM t GROUP BY zip
rows_per_unit = 'find': AVG(age) FROM t
rows_per_unit = 'totals': SUM(age) FROM t
mechanism = 'staircase', epsilon = 4: SUM(age), COUNT(*) FILTER (WHERE age > 33), COUNT(*) FROM t
goal = 'totals': zip, city, COUNT(*), AVG(age) FROM t WHERE city <> 'Lima' GROUP BY CUBE (zip, city)
nonnegative = 'on': zip, smoker, COUNT(*) FROM t GROUP BY ROLLUP (zip, smoker)
epsilon = 1: AVG(age), AVG(zip), COUNT(*), SUM(age) FROM t
epsilon = 1: QUANTILE_CONT(age, 0.25), MEDIAN(age), QUANTILE_CONT(age, 0.75) FROM t
interval = 'off': MEDIAN(zip) FROM t WHERE age > 33
interval = 'on': MEDIAN(zip) FROM t WHERE age > 33
epsilon = 1: COUNT(*) FILTER (WHERE age IS NULL), AVG(age) FROM t
epsilon = 3: COUNT(DISTINCT city), COUNT(DISTINCT zip) FROM t
epsilon = 3: zip, COUNT(DISTINCT name) FROM t GROUP BY zip ORDER BY 2 DESC LIMIT 2
epsilon = 5, delta = 0.0001: age, COUNT(DISTINCT city) FROM t GROUP BY age
"""
"""Queries that find bounds, caps, limits or the largest groups, and those of one vector."""
SETTING = """
SHOW BUDGET; SET mechanism = 'gaussian'; SELECT SUM(age), AVG(age) FROM t;
SET sensitivity = 'smooth'; SELECT MAX(age), COUNT(*) FROM t WHERE name <> 'Zoe'; SHOW BUDGET
"""
PLANNED = """
SET mechanism = 'laplace'; SET sensitivity = 'global'; SET plan = on;
SELECT zip, COUNT(*) FROM t WHERE age > 33 GROUP BY zip; SELECT smoker, COUNT(*) FROM t GROUP BY 1;
SELECT AVG(age) FROM t; SELECT AVG(zip), COUNT(age) FROM t; SELECT COUNT(*) FROM t WHERE age < 99;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(bounds = 'find', epsilon = 90) AVG(zip) FROM t; SHOW BUDGET
"""
"""It comes last, as all that follows SET plan is planned together."""


def _explained_and_repeated(line: str) -> str:
    options, _, select = line.partition(": ")
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"
    return f"EXPLAIN {text}; {text}; {text}"


GROUPS = [
    *(piece.text for piece in split(USUAL)),
    *map(_explained_and_repeated, ASKING.strip().splitlines()),
    *map(_explained_and_repeated, FINDING.strip().splitlines()),
    SETTING,
    PLANNED,
]
"""The queries of one group are asked one after the other."""
QUERIES = ";\n".join(GROUPS)
HALVES = [";\n".join(GROUPS[half::2]) for half in range(2)]


_OTHERS = [name for name in HOSTILE if name not in {*WORST, *CHANGES_ROWS}]
HANDFULS = [
    *(_OTHERS[at :: len(_OTHERS) // HANDFUL] for at in range(len(_OTHERS) // HANDFUL)),
    *([name] for name in CHANGES_ROWS),
]
"""The names of the hostile rows of each file: rows of one kind, which stand together, are apart."""


def _worst(turn: int) -> list[list[str]]:
    """The names of the worst rows of each file of a variant."""
    alone = WORST[turn % TURNS :: TURNS]
    return [*([name] for name in alone), [name for name in WORST if name not in alone]]


class _Drowned:
    """What is added to exact results so that they do not show; their type does."""

    __array_ufunc__ = None

    def __init__(self, size: int):
        self.values = np.arange(size, dtype=np.int64) * 37 % 101 + 20

    def reshape(self, shape):
        self.values = self.values.reshape(shape)
        return self

    def ravel(self):
        return self

    def __array__(self, dtype=None, copy=None):
        """The values alone, which a coarser level adds to released ones."""
        return self.values

    def __radd__(self, exact):
        assert exact.dtype.kind in "iuO"
        return exact * 0 + self.values


@pytest.fixture(autouse=True)
def drowned(monkeypatch):
    """The samplers run, for whatever they may do with odd rows; what they say is dropped."""
    choose_value, choose_index = exponential.select_value, exponential.select_index

    def select_value(values, grid, *rest):
        assert grid[0] <= choose_value(values, grid, *rest) <= grid[1]
        return (grid[0] + grid[1]) // 2

    def select_index(counts, *rest):
        assert 0 <= choose_index(counts, *rest) < len(counts)
        return len(counts) // 2

    release = smooth.release

    def release_smoothly(values, grid, mechanism, noise):
        assert grid[0] <= release(values, grid, mechanism, Noiseless()) <= grid[1]
        return (grid[0] + grid[1]) // 2

    choose_width = exponential.select_width

    def select_width(values, centre, fraction, mechanism, noise):
        widths = len(mechanism.widths)
        assert 0 <= choose_width(values, centre, fraction, mechanism, noise) < widths
        return widths // 2

    toss = gradual.coins

    def no_heads(chance, size, noise):
        return toss(chance, size, noise) & False

    walk_stops = thresholds.stops

    def stops(cells, rungs, *rest):
        found = walk_stops(cells, rungs, rest[0], Noiseless())
        assert ((found >= 0) & (found < len(rungs))).all()
        return np.full(len(cells), len(rungs) // 2)

    choose_bounds, choose_quantiles = ends.select_bounds, halves.select_quantiles
    choose_limit = exponential.select_limit

    def select_bounds(values, grid, *rest):
        low, high = choose_bounds(values, grid, *rest)
        assert grid[0] <= low < high <= grid[1]
        return grid

    def select_quantiles(values, grid, mechanism, noise):
        found = choose_quantiles(values, grid, mechanism, noise)
        assert [grid[0], *found, grid[1]] == sorted([grid[0], *found, grid[1]])
        return [(grid[0] + grid[1]) // 2] * len(found)

    def select_limit(counts, mechanism, noise):
        assert choose_limit(counts, mechanism, noise) in mechanism.steps_up
        return mechanism.steps_up[0]

    def drawn_box(mechanism, noise, size):
        return _Drowned(size * len(mechanism.halves))

    select_weighted = thresholds.select_weighted_keys
    select_keys = thresholds.select_keys

    def select_no_keys(units, mechanism, noise):
        shown, numbers = select_keys(units, mechanism, Noiseless())
        assert (numbers >= mechanism.least_units).all()
        return shown[:0], numbers[:0]

    monkeypatch.setattr(ends, "select_bounds", select_bounds)
    monkeypatch.setattr(halves, "select_quantiles", select_quantiles)
    monkeypatch.setattr(exponential, "select_limit", select_limit)
    monkeypatch.setattr(box, "draws", drawn_box)
    monkeypatch.setattr(staircase, "draws", lambda _, __, size: _Drowned(size))
    monkeypatch.setattr(
        thresholds, "select_weighted_keys", lambda *given: select_weighted(*given)[:0]
    )
    monkeypatch.setattr(thresholds, "select_keys", select_no_keys)
    monkeypatch.setattr(SystemNoise, "laplace", lambda self, scale, size: _Drowned(size))
    monkeypatch.setattr(SystemNoise, "gaussian", lambda self, variance, size: _Drowned(size))
    monkeypatch.setattr(gradual, "refine", lambda coarse, *rest: coarse)
    monkeypatch.setattr(gradual, "coins", no_heads)
    monkeypatch.setattr(smooth, "release", release_smoothly)
    monkeypatch.setattr(thresholds, "stops", stops)
    monkeypatch.setattr(exponential, "select_width", select_width)
    monkeypatch.setattr(exponential, "select_value", select_value)
    monkeypatch.setattr(exponential, "select_index", select_index)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all files, as what is planned for one policy is planned for all who share it."""
    with planned_once():
        yield tmp_path_factory.mktemp("transcripts")


def _files(folder: Path, rows: bytes, policy: str | None) -> Path:
    """The CSV file and its policy, in place of those that were there."""
    folder.mkdir(exist_ok=True)
    (folder / "t.csv").write_bytes(HEADER + rows)
    (folder / "t.toml").unlink(missing_ok=True)
    if policy is not None:
        (folder / "t.toml").write_text(policy)
    return folder / "t.csv"


def _transcript(
    folder: Path, rows: list[bytes], policy: str | None, form: str, capsys, *, asked: str = QUERIES
):
    """Exit code, standard output and standard error of a run."""
    path = _files(folder, b"".join(row + b"\n" for row in rows), policy)
    options = [
        "--format",
        form,
        "--on-error",
        "continue",
        "--epsilon",
        "10000",
        "--queries",
        "1000",
        "--delta",
        "0.001",
    ]
    code = cli.main([str(path), "-c", asked, *options])
    captured = capsys.readouterr()
    # A fault that every file meets is a fault all the same.
    assert "dpdb failed" not in captured.out + captured.err
    return code, captured.out, captured.err


def _policy(kind: str, neighbors: str, nullable: bool) -> str | None:
    text = POLICIES[kind]
    null = "" if nullable else ", nullable = false"
    return None if text is None else text.format(neighbors=neighbors, null=null)


def _first_difference(one: str, other: str) -> str | None:
    """Where two texts part: a diff of megabytes helps nobody."""
    if one == other:
        return None
    pairs = zip([*one.splitlines(), "<end>"], [*other.splitlines(), "<end>"], strict=False)
    return next(f"{a[:400]}\n{b[:400]}" for a, b in pairs if a != b)


@pytest.mark.parametrize("variant", THOROUGH, ids=str)
def test_other_rows_change_no_byte(folder, capsys, variant):
    assert_rows_change_no_byte(folder, capsys, variant, "json", HANDFULS)


@pytest.mark.parametrize(("turn", "variant"), list(enumerate(VARIANTS)), ids=str)
def test_the_worst_rows_change_no_byte(folder, capsys, turn, variant):
    """Each query is asked under every other policy."""
    half = HALVES[turn % 2]
    assert_rows_change_no_byte(folder, capsys, variant, "table", _worst(turn), asked=half)


def assert_rows_change_no_byte(tmp_path, capsys, variant, form, files, *, asked=QUERIES):
    """Of each of the files the hostile rows named, which take the places of others or are added."""
    policy = _policy(*variant)
    expected = _transcript(tmp_path, BENIGN, policy, form, capsys, asked=asked)
    assert expected[1]
    for names in files:
        hostile = [HOSTILE[name] for name in names]
        rows = [*BENIGN[: -len(hostile)], *hostile]
        if variant[1] == "add-remove":
            # Under `replace` the number of rows is public, and has to be the same.
            rows = [*BENIGN, *hostile]
            if not CHANGES_ROWS.intersection(names):
                rows = rows[::-1]
        found = _transcript(tmp_path, rows, policy, form, capsys, asked=asked)
        assert found[0] == expected[0], names
        assert _first_difference(found[1], expected[1]) is None, names
        assert _first_difference(found[2], expected[2]) is None, names


@pytest.mark.parametrize(
    ("variant", "few", "half"),
    [
        (VARIANTS[0], BENIGN[:1], 1),
        (VARIANTS[3], [HOSTILE["inf"]], 0),
        (VARIANTS[5], BENIGN[:1] * 3, 0),
        (VARIANTS[7], [b"", b"", *BENIGN, b"", b"\r"], 1),
    ],
    ids=["one row", "one hostile row", "equal rows", "blank lines"],
)
def test_no_rows_and_only_hostile_rows_change_no_byte(folder, capsys, variant, few, half):
    policy = _policy(*variant)
    many = [row for name, row in HOSTILE.items() if "long" not in name]
    huge = [HOSTILE["2^53"]] * 2000
    files = {"benign": BENIGN, "empty": [], "hostile": many, "all huge": huge, "few": few}
    found = {
        name: _transcript(folder, rows, policy, "json", capsys, asked=HALVES[half])
        for name, rows in files.items()
    }
    for name, transcript in found.items():
        for part, expected in zip(transcript, found["benign"], strict=True):
            assert _first_difference(str(part), str(expected)) is None, name


def test_the_queries_are_answered_or_refused(folder, capsys):
    """Without this, equal transcripts could all be of the same early failure."""
    policy = _policy("declared", "add-remove", True)
    code, out, err = _transcript(folder, BENIGN, policy, "json", capsys)
    answers = [json.loads(line) for line in out.splitlines()]
    failed = [answer["statement"] for answer in answers if "error" in answer]
    assert code == 1
    assert len(answers) == sum(1 for _ in split(QUERIES)) + 1  # the plan
    # Nine for their text, and three that join rows of one unit, as each row is a unit here. How
    # noisy an average of unknown rows is cannot be asked for: twice explained, twice asked twice.
    assert len(failed) == 9 + 3 + 6, failed
    notes = [note for answer in answers for note in answer.get("notes", [])]
    for part in ("is the least that keeps", "at most: ", "the noise is within", "was not enough"):
        assert any(part in note for note in notes), part
    assert "Traceback" not in err


def test_the_files_do_differ(tmp_path):
    """Without this, the transcripts could be equal because nothing depends on the rows."""
    shown = []
    for name, rows in {"a": BENIGN, "b": [*BENIGN, HOSTILE["another"]]}.items():
        path = _files(tmp_path / name, b"\n".join(rows), _policy("declared", "add-remove", True))
        session = Session(policy_for(path), noise=Noiseless())
        shown.append(session.execute("SELECT COUNT(*), SUM(age) FROM t").rows)
    assert shown[0] != shown[1]


@pytest.mark.parametrize("kind", POLICIES)
def test_explain_and_show_never_open_the_file(tmp_path, kind):
    """Under add-remove nothing but answering reads a row: the file may as well be gone."""
    path = _files(tmp_path / "t", b"", _policy(kind, "add-remove", True))
    budget = Budget(Fraction(10_000), Fraction(1, 1000), 1000)
    policy = replace(policy_for(path), budget=budget)
    path.unlink()
    session = Session(policy)
    for piece in split(QUERIES):
        asks = piece.text.startswith(("SELECT", "WITH"))
        text = f"EXPLAIN {piece.text}" if asks else piece.text
        # What is refused is refused for its text, not for want of a file.
        with contextlib.suppress(StatementError, InvalidOption):
            session.execute(text)
    assert session._loaded_engine is None
