"""What a hint says can be pasted into the statement or the shell, and is understood there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line import Make, Run

POLICY = """
[tables."my t".columns]
"net worth" = { type = "number" }
"it's $1" = { type = "integer" }
limit = { type = "integer" }
city = { type = "text" }
born = { type = "date" }
"""
NAMES = {"net worth": '"net worth"', "it's $1": '"it\'s $1"', "limit": '"limit"'}


@pytest.fixture(params=[True, False], ids=["declared", "undeclared"])
def path(request: pytest.FixtureRequest, make: Make) -> Path:
    rows = "net worth,it's $1,limit,city,born\n1,2,3,Rome,2000-01-01\n"
    return make(rows, POLICY if request.param else None, name="my t")


@pytest.mark.parametrize("name", NAMES)
def test_bounds_in_the_query_and_on_the_command_line(run: Run, path: Path, name: str) -> None:
    quoted = NAMES[name]
    statement = f'SELECT SUM({quoted} + 1) FROM "my t"'
    ran = run(path, "-c", statement)
    assert ran.code == 1
    [option] = re.findall(r"or (--bounds .*?LOW:HIGH\S*),", ran.err)
    [clamp] = re.findall(r"CLAMP\(.*?\)", ran.err)
    [where] = re.findall(r"WHERE .*? BETWEEN low AND high", ran.err)
    words = shlex.split(option.replace("LOW", "0").replace("HIGH", "9"))
    assert words == ["--bounds", f"{name}=0:9"]
    assert run(path, *words, "-c", statement).code == 0
    numbers = {"low": "0", "high": "9"}
    clamp, where = (re.sub("low|high", lambda m: numbers[m[0]], text) for text in (clamp, where))
    assert run(path, "-c", f'SELECT SUM({clamp}) FROM "my t" {where}').code == 0


@pytest.mark.parametrize("argument", ["LENGTH(city)", "LENGTH(city || city)"])
def test_no_bounds_are_advised_for_texts(run: Run, path: Path, argument: str) -> None:
    ran = run(path, "-c", f'SELECT SUM({argument}) FROM "my t"')
    assert "hint: wrap it in CLAMP(x, low, high)" in ran.err
    assert "--bounds" not in ran.err


def test_bounds_of_dates_are_not_for_the_command_line(run: Run, make: Make) -> None:
    path = make("born\n2000-01-01\n", '[tables.t.columns]\nborn = { type = "date" }\n')
    ran = run(path, "-c", "SELECT MEDIAN(born) FROM t")
    assert "CLAMP(born, '2000-01-01', '2029-12-31')" in ran.err
    assert "--bounds" not in ran.err


@pytest.mark.parametrize(("statement", "hint"), [
    ('SELECT COUNT(net_worth) FROM "my t"', 'did you mean "net worth"?'),
    ('SELECT COUNT(limitt) FROM "my t"', 'did you mean "limit"?'),
    ('SELECT COUNT(zzz) FROM "my t"', 'columns are "net worth", "it\'s $1", "limit", city, born'),
    ("SELECT COUNT(*) FROM my_t", 'did you mean "my t"?'),
    ("DESCRIBE zzzzzz", 'tables are "my t"'),
])  # fmt: skip
def test_names_have_the_quotes_they_need(run: Run, path: Path, statement: str, hint: str) -> None:
    assert f"hint: {hint}\n" in run(path, "-c", statement).err


def test_declared_texts_have_their_quotes_doubled(run: Run, make: Make) -> None:
    path = make("c\n", '[tables.t.columns]\nc = { type = "text", values = ["Val d\'Or"] }\n')
    ran = run(path, "-c", "SELECT COUNT(*) FROM t WHERE c = 'Val dOr'")
    assert "did you mean 'Val d''Or'?" in ran.out + ran.err
