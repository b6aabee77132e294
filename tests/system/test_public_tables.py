"""Tables that everybody may know: exact answers for nothing, and values for other tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import DataFileError, TooLarge, Unsupported
from dpdb.interfaces.cli.main import main
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

POLICY = """
[tables.regions]
public = true
key = "id"
[tables.regions.columns]
id = { type = "integer" }
name = { type = "text" }
size = { type = "number" }
since = { type = "date" }
north = { type = "boolean" }
zone = { type = "integer", bounds = [0, 9] }
[tables.people]
[tables.people.columns]
region = { type = "integer", values = "regions.id" }
home = { type = "text", values = "regions.name" }
age = { type = "integer", bounds = [0, 99] }
"""
REGIONS = """\
id,name,size,since,north,zone
40,West,1.5,2002-03-04,true,99
3,East,2.25,2001-02-03,false,7
17,West,,,,
5,,0.1,1999-09-09,true,-1
"""
PEOPLE = "region,home,age\n3,East,30\n3,West,31\n40,East,32\n6,South,33\n,,\n"


def shop(folder: Path, regions: str = REGIONS) -> Session:
    (folder / "regions.csv").write_text(regions, encoding="utf-8")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "p.toml").write_text(POLICY, encoding="utf-8")
    return Session(read_policy(folder / "p.toml"), noise=Noiseless())


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return shop(tmp_path)


EXACT = {
    "SELECT COUNT(*), COUNT(name), COUNT(DISTINCT name), SUM(id) FROM regions": [(4, 3, 2, 65)],
    "SELECT SUM(size), MIN(size), MAX(size), AVG(size) FROM regions": [
        (3.85, 0.1, 2.25, pytest.approx(3.85 / 3))
    ],
    "SELECT MIN(since), MAX(since) FROM regions": [("1999-09-09", "2002-03-04")],
    "SELECT MIN(zone), MAX(zone), MEDIAN(id) FROM regions": [(0, 9, 11)],
    "SELECT VAR_POP(id) FROM regions WHERE id < 10": [(1,)],
    "SELECT name, COUNT(*), SUM(id) FROM regions GROUP BY name": [("East", 1, 3), ("West", 2, 57)],
    # Without a row there is no group, as nobody has anything to hide.
    "SELECT name, north, COUNT(*) FROM regions GROUP BY name, north": [
        ("East", False, 1), ("West", True, 1),
    ],
    "SELECT id FROM regions GROUP BY id": [(3,), (5,), (17,), (40,)],
    "SELECT id FROM regions WHERE size > 1 GROUP BY id ORDER BY id DESC": [(40,), (3,)],
    "SELECT since FROM regions GROUP BY since LIMIT 1": [("1999-09-09",)],
    "SELECT YEAR(since) AS y, COUNT(*) FROM regions GROUP BY YEAR(since) HAVING y > 2000": [
        (2001, 1), (2002, 1),
    ],
    "SELECT name, MAX(id) FROM regions GROUP BY name HAVING COUNT(*) > 1": [("West", 40)],
    "SELECT COUNT(*) FROM regions WHERE id > (SELECT AVG(id) FROM regions)": [(2,)],
    "SELECT COUNT(*) FROM regions WHERE id > 100": [(0,)],
    "SELECT SUM(id) FROM regions WHERE id > 100": [(None,)],
    # Rows as they are, in the order of the file.
    "SELECT name FROM regions": [("West",), ("East",), ("West",), (None,)],
    "SELECT * FROM regions WHERE id < 17": [
        (3, "East", 2.25, "2001-02-03", False, 7), (5, None, 0.1, "1999-09-09", True, 0),
    ],
    "SELECT name AS n, id * 2 FROM regions WHERE id > 3 ORDER BY n, id DESC LIMIT 2": [
        (None, 10), ("West", 80),
    ],
    "SELECT id FROM regions ORDER BY since DESC NULLS LAST LIMIT 2 OFFSET 1": [(3,), (5,)],
    "SELECT 1 FROM regions": [(1,)] * 4,
    "SELECT id FROM regions WHERE id > 100": [],
    "WITH r AS (SELECT id AS i, UPPER(name) AS u FROM regions) SELECT * FROM r WHERE u = 'EAST'": [
        (3, "EAST"),
    ],
    "SELECT id, (SELECT AVG(id) FROM regions) FROM regions WHERE id < 5": [(3, 16.25)],
    "SELECT id FROM regions WHERE since > (SELECT MIN(since) FROM regions WHERE north) ORDER BY 1": [
        (3,), (40,),
    ],
    # Rows of several tables.
    "SELECT a.id, b.id FROM regions a JOIN regions b ON a.name = b.name AND a.id < b.id": [(17, 40)],
    "SELECT a.*, b.zone FROM regions a LEFT JOIN regions b ON b.zone = a.id WHERE a.id < 17 "
    "ORDER BY a.id DESC": [
        (5, None, 0.1, "1999-09-09", True, 0, None), (3, "East", 2.25, "2001-02-03", False, 7, None),
    ],
    "SELECT COUNT(*) FROM regions a, regions b WHERE a.zone >= b.zone": [(6,)],
    "SELECT b.name AS n FROM regions a, regions b WHERE a.id = 3 ORDER BY n NULLS FIRST LIMIT 2": [
        (None,), ("East",),
    ],
    "SELECT id FROM regions a WHERE EXISTS (SELECT 1 FROM regions b WHERE b.name = a.name AND "
    "b.id > a.id)": [(17,)],
    "SELECT COUNT(*), SUM(b.id) FROM regions a JOIN regions b ON a.name = b.name": [(5, 117)],
    "SELECT name FROM regions WHERE id IN (SELECT zone FROM regions) GROUP BY name": [],
    "SELECT MAX(n) FROM (SELECT name, COUNT(*) AS n FROM regions GROUP BY name)": [(2,)],
    "SELECT COUNT(*) FROM (SELECT id FROM regions WHERE id > 5 GROUP BY id)": [(2,)],
    "SELECT name, COUNT(*), GROUPING(name) FROM regions GROUP BY ROLLUP(name) ORDER BY 2": [
        ("East", 1, 0), ("West", 2, 0), (None, 4, 1),
    ],
    "WITH t AS (SELECT name, COUNT(*) AS n FROM regions GROUP BY name) "
    "SELECT a.name, b.n FROM t a JOIN t b ON a.n > b.n UNION ALL SELECT name, n FROM t WHERE "
    "n = (SELECT MIN(n) FROM t)": [("West", 1), ("East", 1)],
}  # fmt: skip


@pytest.mark.parametrize("text", EXACT)
def test_answers_are_exact_and_cost_nothing(session: Session, text: str) -> None:
    answer = session.execute(text)
    assert list(answer.rows) == EXACT[text]
    assert answer.notes == ("public data, exact",)
    assert answer.private
    assert not answer.releases
    assert all(column.accuracy is None for column in answer.cells)
    price = session.explain(text).cost
    assert (answer.cost, price.epsilon, price.queries) == (price, 0, 0)
    assert (session.balance.epsilon_left, session.balance.queries_left) == (1, 10)
    explained = session.execute(f"EXPLAIN {text}")
    assert (explained.rows, explained.cost) == ((), price)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT id, RANK() OVER (ORDER BY id) FROM regions", "GROUP BY shows the different"),
        ("SELECT id FROM regions WHERE id > (SELECT AVG(age) FROM people)", "GROUP BY shows the"),
        (
            "SELECT id FROM (SELECT id, (SELECT AVG(age) FROM people) AS a FROM regions) AS r WHERE a > 3",
            "GROUP BY shows the different",
        ),
        ("SELECT COUNT(*) FROM people WHERE age > (SELECT id FROM regions)", "LIMIT 1"),
        ("SELECT COUNT(*) FROM people WHERE age > (SELECT id, zone FROM regions LIMIT 1)", "GROUP"),
        ("SELECT id FROM regions UNION ALL SELECT COUNT(*) FROM people", "never shown"),
        ("SELECT age FROM people", "never shown"),
        ("SELECT * FROM people", "never shown"),
        ("SELECT regions.id FROM people JOIN regions ON region = id", "never shown"),
        ("SELECT MODE(name) FROM regions", "ORDER BY COUNT"),
        ("SELECT size, COUNT(*) FROM regions GROUP BY size", "list them in the policy"),
    ],
)
def test_what_is_not_answered(session: Session, text: str, said: str) -> None:
    with pytest.raises(Unsupported) as refused:
        session.execute(text)
    assert said in (refused.value.hint or "")


def test_the_cells_of_shown_rows_are_bounded(tmp_path: Path) -> None:
    rows = "".join(f"{number},East,,,,\n" for number in range(10_001))
    session = shop(tmp_path, f"id,name,size,since,north,zone\n{rows}")
    columns = ", ".join(["id"] * 200)
    with pytest.raises(TooLarge, match="10001 rows of 200 columns, 2000000 cells") as refused:
        session.execute(f"SELECT {columns} FROM regions")
    assert refused.value.hint == "LIMIT 10000"


def test_the_prompt_says_that_rows_are_free(session: Session) -> None:
    explained = explain_screen(session.execute("EXPLAIN SELECT name FROM regions WHERE id > 3"), ())
    assert "\n\nnothing is drawn: keys are public\n" in explained
    assert explained.startswith("cost  nothing, of ε ")


def test_values_for_other_tables(session: Session) -> None:
    """Each value of the public column is a group; a cell that is none of them is NULL."""
    answer = session.execute("SELECT region, COUNT(*) FROM people GROUP BY region")
    assert answer.rows == ((3, 2), (5, 0), (17, 0), (40, 1))
    assert answer.cost.epsilon > 0
    homes = session.execute("SELECT home, COUNT(*) FROM people GROUP BY home").rows
    assert homes == (("East", 2), ("West", 1))
    assert session.execute("SELECT COUNT(*) FROM people WHERE home IS NULL").rows == ((2,),)
    described = {row[0]: row[2:5] for row in session.execute("DESCRIBE people").rows}
    assert described["region"] == (None, None, "3, 5, 17, 40")
    assert described["home"] == (None, None, "East, West")


def test_a_public_column_without_values_has_none_to_give(tmp_path: Path) -> None:
    session = shop(tmp_path, "id,name,size,since,north,zone\n,,,,,\n")
    with pytest.raises(DataFileError, match=r"^regions.id has no values"):
        session.execute("SELECT COUNT(*) FROM people")
    (tmp_path / "p.toml").write_text(
        POLICY.split("[tables.people]", maxsplit=1)[0], encoding="utf-8"
    )
    alone = Session(read_policy(tmp_path / "p.toml"))
    assert alone.execute("SELECT COUNT(*), COUNT(id), MAX(id) FROM regions").rows == ((1, 0, None),)
    with pytest.raises(Unsupported):
        alone.execute("SELECT id FROM regions GROUP BY id")


def test_keys_are_checked(tmp_path: Path) -> None:
    session = shop(tmp_path, REGIONS + "17,x,1,2000-01-01,true,1\n")
    with pytest.raises(
        DataFileError, match=r"^regions.id is declared a unique key, but a value repeats$"
    ):
        session.execute("SELECT COUNT(*) FROM regions")


def test_public_tables_are_read_with_the_first_statement(session: Session, tmp_path: Path) -> None:
    """Not when the session is made, as somebody waits for its prompt."""
    (tmp_path / "regions.csv").unlink()
    with pytest.raises(DataFileError):
        session.execute("SELECT COUNT(*) FROM people")


def test_a_batch_may_hold_public_statements(session: Session) -> None:
    texts = ["SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM regions"]
    session.plan([*texts, "SELECT AVG(age) FROM people"])
    assert [session.execute(text).rows[0][0] for text in texts] == [5, 4]


def test_public_answers_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop(tmp_path)
    text = "SELECT COUNT(*) FROM regions"
    assert main([str(tmp_path / "p.toml"), "-c", text]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[2:] == [
        "          4", "public data, exact", "spent ε 0 · left: ε 1 of 1, 10 of 10 queries",
    ]  # fmt: skip
    assert main([str(tmp_path / "p.toml"), "--json", "-c", text]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["private"]
    assert (answer["releases"], answer["cost"]["queries"]) == ([], 0)


def test_neither_privacy_switched_off_nor_a_seed_changes_them(tmp_path: Path) -> None:
    shop(tmp_path)
    taught = Session(read_policy(tmp_path / "p.toml"), noise=Noiseless(), teach=True)
    for setting in ("SET dp = off", "SET dp = on", "SET sensitivity = 'local'"):
        taught.execute(setting)
        answer = taught.execute("SELECT COUNT(*) FROM regions")
        assert (answer.rows, answer.notes) == (((4,),), ("public data, exact",))
        assert not answer.private
        assert answer.cost.epsilon == 0


def test_a_lasting_budget_is_for_the_public_data_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop(tmp_path)
    lasting = f'[budget]\nname = "b"\nledger = "{tmp_path}/b.ledger"\n{POLICY}'
    (tmp_path / "p.toml").write_text(lasting, encoding="utf-8")
    ask = [str(tmp_path / "p.toml"), "-c", "SELECT region, COUNT(*) FROM people GROUP BY region"]
    rows = (tmp_path / "regions.csv").read_text()
    (tmp_path / "regions.csv").write_text(rows + "17,again,,,,\n")
    assert main(["budget", "open", str(tmp_path / "p.toml")]) == 2
    assert "regions.id is declared a unique key, but a value repeats" in capsys.readouterr().err
    (tmp_path / "regions.csv").write_text(rows)
    assert main(["budget", "open", str(tmp_path / "p.toml")]) == 0
    assert main(ask) == 0
    (tmp_path / "regions.csv").write_text(rows + "18,new,,,,\n")
    assert main(ask) == 2
    assert "regions" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM regions WHERE id < (SELECT COUNT(*) FROM people)",
        "SELECT COUNT(*), (SELECT AVG(age) FROM people) FROM regions",
        "SELECT name, COUNT(*) FROM regions GROUP BY name HAVING 3 > (SELECT COUNT(*) FROM people)",
        "SELECT COUNT(*) FROM regions, people",
        "SELECT MAX(n) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) UNION ALL "
        "SELECT COUNT(*) FROM regions",
        "SELECT COUNT(*) FROM regions WHERE id > (SELECT MAX(n) FROM (SELECT COUNT(*) n FROM people))",
        "SELECT COUNT(*) FROM people WHERE age < (SELECT MAX(id) FROM regions)",
        "SELECT (SELECT COUNT(*) FROM people) / (SELECT COUNT(*) FROM regions)",
    ],
)
def test_what_reads_a_private_table_is_private(session: Session, text: str) -> None:
    answer = session.execute(text)
    assert answer.cost.epsilon > 0
    assert "public data, exact" not in answer.notes
    assert answer.releases
    assert session.balance.queries_left == 9


PEOPLE_BY_REGION = "(SELECT region, COUNT(*) AS n FROM people GROUP BY region)"
CONSTANTS = {
    "SELECT COUNT(*) FROM people WHERE age > (SELECT MAX(id) - 9 FROM regions)": (
        "SELECT COUNT(*) FROM people WHERE age > 31"
    ),
    "SELECT SUM(CASE WHEN region = (SELECT id FROM regions WHERE name = 'East') THEN age END)"
    " FROM people": "SELECT SUM(CASE WHEN region = 3 THEN age END) FROM people",
    "SELECT SUM(LEAST(age, (SELECT COUNT(*) FROM regions))) FROM people": (
        "SELECT SUM(LEAST(age, 4)) FROM people"
    ),
    "SELECT COUNT(*) FROM people WHERE home = (SELECT name FROM regions WHERE id = 3)": (
        "SELECT COUNT(*) FROM people WHERE home = 'East'"
    ),
    "SELECT COUNT(*) FROM people WHERE age > (SELECT id FROM regions WHERE id > 99)": (
        "SELECT COUNT(*) FROM people WHERE age > NULL"
    ),
    "SELECT COUNT(*) FROM people WHERE region IN (SELECT MIN(id) FROM regions GROUP BY name)": (
        "SELECT COUNT(*) FROM people WHERE region IN (3, 17)"
    ),
    "SELECT COUNT(*) FROM people WHERE home NOT IN (SELECT k FROM (SELECT name AS k, COUNT(*) AS n"
    " FROM regions GROUP BY name) WHERE n > 1)": (
        "SELECT COUNT(*) FROM people WHERE home NOT IN ('West')"
    ),
    "SELECT COUNT(*) FROM people WHERE age < 5 OR region IN (SELECT id FROM regions WHERE id > 99"
    " GROUP BY id)": "SELECT COUNT(*) FROM people WHERE age < 5 OR FALSE",
    "SELECT MAX(n) * (SELECT MAX(m) FROM (SELECT name, COUNT(*) AS m FROM regions GROUP BY name))"
    f" FROM {PEOPLE_BY_REGION}": f"SELECT MAX(n) * 2 FROM {PEOPLE_BY_REGION}",
    "SELECT (SELECT COUNT(*) FROM people) * (SELECT id FROM regions WHERE zone = 7)": (
        "SELECT (SELECT COUNT(*) FROM people) * 3"
    ),
    "SELECT region, COUNT(*) FROM people GROUP BY region HAVING COUNT(*) > (SELECT MIN(zone) FROM"
    " regions)": "SELECT region, COUNT(*) FROM people GROUP BY region HAVING COUNT(*) > 0",
}
"""Private queries with a subquery of public tables, and with its value."""


@pytest.mark.parametrize("text", CONSTANTS)
def test_a_subquery_of_public_tables_is_a_constant(session: Session, text: str) -> None:
    """The query is that in which the value is written, with its bounds and its price."""
    answer, again = session.execute(text), session.execute(CONSTANTS[text])
    assert again.rows == answer.rows
    assert again.cost.epsilon == 0
    assert again.repeat is bool(answer.releases)
    told = [[(r.sensitivity, r.epsilon) for r in each.releases] for each in (answer, again)]
    assert told[0] == told[1]


BESIDE_ANSWERS = {
    f"SELECT r.name, t.n FROM {PEOPLE_BY_REGION} t JOIN regions r ON r.id = t.region WHERE n > 0"
    " ORDER BY n DESC": [("East", 2), ("West", 1)],
    f"SELECT name, SUM(n), COUNT(*) FROM regions LEFT JOIN {PEOPLE_BY_REGION} t ON t.region = id"
    " AND n > 0 GROUP BY name ORDER BY name": [(None, None, 1), ("East", 2, 1), ("West", 1, 2)],
    f"SELECT s, SUM(n) FROM {PEOPLE_BY_REGION} t, (SELECT id, since AS s FROM regions WHERE north)"
    " WHERE id = region GROUP BY s ORDER BY s": [("1999-09-09", 0), ("2002-03-04", 1)],
    f"SELECT region, n FROM {PEOPLE_BY_REGION} t WHERE n > 0 UNION ALL SELECT zone, COUNT(*) FROM"
    " regions WHERE zone > 5 GROUP BY zone": [(3, 2), (40, 1), (7, 1), (9, 1)],
    f"SELECT n, m FROM {PEOPLE_BY_REGION} t JOIN (SELECT name, MAX(id) AS m FROM regions GROUP BY"
    " name) ON m = region": [(2, 3), (1, 40)],
    f"SELECT n FROM {PEOPLE_BY_REGION} t JOIN regions ON id = region AND id > 99": [],
}


@pytest.mark.parametrize("text", BESIDE_ANSWERS)
def test_public_rows_beside_an_answer_are_exact(session: Session, text: str) -> None:
    """What is drawn, and paid for, is the answer alone."""
    answer = session.execute(text)
    assert list(answer.rows) == BESIDE_ANSWERS[text]
    assert [report.aggregate for report in answer.releases] == ["count"]
    session.execute("SELECT region, COUNT(*) AS n FROM people GROUP BY region")
    assert session.balance.epsilon_left == 1 - answer.cost.epsilon
    assert session.execute(text).repeat


def test_an_answer_about_public_tables_is_joined_with_public_rows(session: Session) -> None:
    counted = "(SELECT name AS n, COUNT(*) AS k FROM regions GROUP BY name)"
    answer = session.execute(f"SELECT id, k FROM {counted} JOIN regions ON n = name ORDER BY id")
    assert answer.rows == ((3, 1), (17, 2), (40, 2))
    assert (answer.cost.epsilon, answer.notes) == (0, ("public data, exact",))


def test_public_rows_beside_an_answer_are_bounded(tmp_path: Path) -> None:
    rows = "".join(f"{number},East,,,,\n" for number in range(40_001))
    session = shop(tmp_path, f"id,name,size,since,north,zone\n{rows}")
    counted = "(SELECT age > 3 AS a, COUNT(*) AS n FROM people GROUP BY age > 3)"
    with pytest.raises(TooLarge, match="40001 public rows of 6 columns beside answers"):
        session.execute(f"SELECT COUNT(*) FROM {counted} JOIN regions ON id = n")
    named = "(SELECT id AS k, COUNT(*) AS n FROM regions WHERE id < 200 GROUP BY id)"
    with pytest.raises(TooLarge, match="200 × 40001 rows to join"):
        session.execute(f"SELECT COUNT(*) FROM {named} JOIN (SELECT id FROM regions) ON id = n")
    few = "(SELECT id FROM regions WHERE id < 9)"
    assert session.execute(f"SELECT COUNT(*) FROM {counted} JOIN {few} ON id = n").rows


def test_a_public_timestamp_is_a_constant_with_its_time(tmp_path: Path) -> None:
    (tmp_path / "stops.csv").write_text("seen\n2024-05-01 12:30:00\n2024-06-01 00:00:00\n")
    (tmp_path / "rides.csv").write_text("at\n2024-05-01 12:30:00\n2024-05-01 12:30:01\n")
    (tmp_path / "p.toml").write_text(
        '[tables.stops]\npublic = true\ncolumns.seen = { type = "timestamp" }\n'
        "[tables.rides.columns]\n"
        'at = { type = "timestamp", bounds = [2024-01-01, 2024-12-31] }\n'
    )
    session = Session(read_policy(tmp_path / "p.toml"), noise=Noiseless())
    text = "SELECT COUNT(*) FROM rides WHERE at > {}"
    answer = session.execute(text.format("(SELECT MIN(seen) FROM stops)"))
    assert answer.rows == ((1,),)
    assert session.execute(text.format("TIMESTAMP '2024-05-01 12:30:00'")).repeat
