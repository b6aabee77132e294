"""Tables of a PostgreSQL server: their cells are those of a CSV file, at one moment."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.opening import Sources
from dpdb.engines.sources.postgres_source import _Sent
from dpdb.engines.sources.protocol import keyed
from dpdb.errors import DataFileError, DpdbError, PolicyError
from dpdb.interfaces.cli.main import main
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.policy.storage import server_table
from dpdb.session.connect import connect, policy_of
from dpdb.session.session import Session
from tests.support.command_line import PEOPLE
from tests.support.csv_files import Remembering, integer, plain
from tests.support.exactly import raw
from tests.support.noiseless import Noiseless
from tests.support.postgres import running_server

HOSTILE = [
    ("plain", 1, "0.1", "1999-12-31", True),
    ('a "quoted", text', 2**53 + 1, "1e300", "infinity", False),
    ("two\nlines\r\nand \\. more", -(2**63), "NaN", "0044-03-15 BC", None),
    ("", None, None, None, None),
    (None, 0, "-0.0", "-infinity", True),
    (" é ́ \u2028\t", 7, "12345678901234567.89", "0001-01-01", False),
    ("NULL", -1, "Infinity", "9999-12-31", True),
]
COLUMNS = (
    Column("t", Kind.TEXT),
    Column("i", Kind.INTEGER),
    Column("x", Kind.NUMBER),
    Column("d", Kind.DATE),
    Column("b", Kind.BOOLEAN),
)
STATEMENTS = [
    "SELECT COUNT(*), AVG(age), SUM(income), MEDIAN(income), COUNT(DISTINCT zip) FROM people",
    "SELECT zip, COUNT(*), MAX(income) FROM people WHERE age BETWEEN 30 AND 50 GROUP BY zip",
    "SELECT COUNT(*) FROM people WHERE name LIKE 'A%' AND LENGTH(name) > 9",
]


@pytest.fixture(scope="module")
def server():
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def hostile(server):
    server.execute("CREATE TABLE hostile (t text, i bigint, x double precision, d date, b boolean)")
    for row in HOSTILE:
        server.execute("INSERT INTO hostile VALUES (%s, %s, %s::float8, %s::date, %s)", values=row)
    return table_of(server, "hostile", COLUMNS)


@pytest.fixture
def numbers(server):
    """Five rows, which are those of the table anew for each test."""
    server.execute(
        "DROP TABLE IF EXISTS numbers CASCADE",
        "CREATE TABLE numbers AS SELECT i AS x, 'n' || i AS t FROM generate_series(1, 5) i",
    )
    return table_of(server, "numbers", (integer(), Column("t", Kind.TEXT)))


@pytest.fixture
def shuffled(server):
    """More rows than one block, in an index in another order than in the table."""
    server.execute(
        "DROP TABLE IF EXISTS shuffled",
        "CREATE TABLE shuffled AS SELECT (i * 7919) % 10007 AS x, i AS y, repeat('w', 200) AS wide"
        " FROM generate_series(1, 10000) i",
        "CREATE INDEX ON shuffled (x)",
        "VACUUM ANALYZE shuffled",
    )
    columns = (*(Column(name, Kind.INTEGER) for name in "xy"), Column("wide", Kind.TEXT))
    return table_of(server, "shuffled", columns)


def table_of(server, name, columns):
    return Table(name, PEOPLE, columns, server=server_table(server.address(name)))


def cells(table, *names):
    return [plain(Sources().of(table).load([name]).columns[name]) for name in names]


def test_cells_are_those_of_a_csv_file(hostile, tmp_path):
    path = tmp_path / "hostile.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[c.name for c in COLUMNS], *HOSTILE])
    names = [column.name for column in COLUMNS]
    assert cells(hostile, *names) == cells(Table("hostile", path, COLUMNS), *names)
    source = Sources().of(hostile)
    together = source.load(names).columns
    assert [plain(together[name]) for name in names] == cells(hostile, *names)
    [block] = source.blocks(names)
    assert [plain(block.columns[name]) for name in names] == cells(hostile, *names)


def test_all_types_that_can_be_read(server):
    server.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE TABLE kinds (s smallint, r real, n numeric(9, 2), w numeric(12, 0), m mood,"
        " c char(4), v varchar(9), u uuid, j json)",
        "INSERT INTO kinds VALUES (1, 0.1, 2.50, 3, 'glad', 'ab', 'v', "
        "'00000000-0000-0000-0000-000000000001', '{}')",
    )
    session = connect(server.address("kinds"))
    told = {column.name: column.kind.value for column in session.policy.tables[0].columns}
    assert told == {
        "s": "integer", "r": "number", "n": "number", "w": "integer",
        "m": "text", "c": "text", "v": "text", "u": "text",
    }  # fmt: skip
    table = session.policy.tables[0]
    assert cells(table, "s", "r", "n", "m", "c") == [[1], [0.1], [2.5], ["glad"], ["ab"]]
    declared = table_of(server, "kinds", (Column("j", Kind.TEXT),))
    with pytest.raises(DataFileError, match="j holds values of another type"):
        policy_of(Policy((declared,)))


def test_timestamps_are_in_utc_wherever_the_role_is(server, tmp_path):
    """In 1850 clocks of Calcutta were ahead by 5:53:28, which no cell can write."""
    written = ["2020-02-29 23:59:59.123456", "1850-01-01 00:00:00", "0044-03-15 BC", "infinity",
               "2300-01-01 00:00:00", None]  # fmt: skip
    server.execute(
        "CREATE ROLE abroad LOGIN",
        "ALTER ROLE abroad SET timezone = 'Asia/Kolkata'",
        "ALTER ROLE abroad SET datestyle = 'German'",
        "CREATE TABLE moments (i int, t timestamp, z timestamptz, d date)",
        "GRANT SELECT ON moments TO abroad",
    )
    for at, cell in enumerate(written):
        server.execute("INSERT INTO moments VALUES (%s, %s::timestamp, %s::timestamp AT TIME ZONE 'UTC', "
                       "%s::date)", values=(at, cell, cell, cell))  # fmt: skip
    [table] = connect(server.address("moments", user="abroad")).policy.tables
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {"i": Kind.INTEGER, "t": Kind.TIMESTAMP, "z": Kind.TIMESTAMP, "d": Kind.DATE}
    precise = [Column(name, Kind.TIMESTAMP, step=Fraction(1)) for name in "tzd"]
    path = tmp_path / "moments.csv"
    path.write_text("t,z,d\n" + "".join(f"{c},{c},{(c or '')[:10]}\n" for c in written))
    on_file = cells(Table("moments", path, tuple(precise)), *"tzd")
    assert [sum(cell is None for cell in column) for column in on_file] == [4, 4, 4]
    assert cells(replace(table, columns=tuple(precise)), *"tzd") == on_file


def test_statements_mean_what_they_do_of_a_file(server, tmp_path):
    on_file = read_policy(PEOPLE.with_suffix(".toml"))
    (people,) = on_file.tables
    kinds = {Kind.INTEGER: "int", Kind.NUMBER: "numeric", Kind.TEXT: "text",
             Kind.DATE: "date", Kind.BOOLEAN: "boolean", Kind.TIMESTAMP: "timestamptz"}  # fmt: skip
    listed = ", ".join(f"{column.name} {kinds[column.kind]}" for column in people.columns)
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE people ({listed})")
        names = ", ".join(PEOPLE.read_text().partition("\n")[0].split(","))
        copied = f"COPY people ({names}) FROM STDIN (FORMAT csv, HEADER)"
        with connection.cursor().copy(copied) as into:
            into.write(PEOPLE.read_bytes())
    declared = PEOPLE.with_suffix(".toml").read_text()
    assert 'path = "people.csv"' in declared
    moved = tmp_path / "people.toml"
    address = server.address("people")
    moved.write_text(declared.replace('path = "people.csv"', f'source = "{address}"'))
    on_server = read_policy(moved)
    assert on_server.tables[0].server is not None
    engine = MemoryEngine()
    for text in STATEMENTS:
        assert raw(text, on_server, engine) == raw(text, on_file, MemoryEngine())


def test_columns_that_are_read_one_by_one_belong_together(shuffled):
    """An index has rows in another order than the table."""
    xs, ys = cells(shuffled, "x", "y")
    assert all((y * 7919) % 10007 == x for x, y in zip(xs, ys, strict=True))


def test_a_session_sees_one_moment(server, numbers):
    """What others commit elsewhere is no change; what was read and is another now is one."""
    server.execute("CREATE TABLE IF NOT EXISTS others AS SELECT 1 AS x")
    others = table_of(server, "others", (integer(),))
    sources = Sources()
    before = sources.of(numbers).load(["x"])
    server.execute("INSERT INTO others VALUES (2)")
    after = sources.of(numbers).load(["x", "t"])
    assert after.version == before.version
    assert plain(after.columns["x"]) == plain(before.columns["x"])
    assert sources.of(others).load([]).rows == 2
    server.execute("DELETE FROM numbers WHERE x = 2")
    for table in (others, numbers, others):
        with pytest.raises(DataFileError, match="numbers has changed since it was first read"):
            sources.of(table).load(["x"])
    assert sorted(cells(numbers, "x")[0]) == [1, 3, 4, 5]


@pytest.mark.parametrize("names", [["x"], []])
def test_a_session_that_was_told_of_other_rows_stays_so(server, numbers, names):
    sources = Sources()
    sources.of(numbers).load(names)
    server.execute("DELETE FROM numbers WHERE x = 2")
    for _ in range(3):
        with pytest.raises(DataFileError, match="has changed since it was first read"):
            sources.of(numbers).load(names)
    server.execute("INSERT INTO numbers VALUES (2, 'n2')", "UPDATE numbers SET x = 7 - x")
    if names:
        with pytest.raises(DataFileError, match="has changed since it was first read"):
            sources.of(numbers).load(names)


def test_nothing_is_locked_between_readings(server, numbers):
    """A transaction that has read a table keeps others from altering it until it ends."""
    session = Session(Policy((numbers,)), noise=Noiseless())
    assert list(session.execute("SELECT COUNT(*) FROM numbers WHERE x > 2").rows) == [(3,)]
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute("SET lock_timeout = '2s'")
        connection.execute("ALTER TABLE numbers ADD COLUMN more int")
        idle = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        assert connection.execute(idle).fetchone() == (0,)
    asked = "SELECT COUNT(*) FROM numbers WHERE t = 'n1'"
    assert list(session.execute(asked).rows) == [(1,)]


def test_rows_that_are_elsewhere_than_when_they_were_read_are_another_moment(server, numbers):
    """They are read in another order: a column that is read now has others' rows beside it."""
    sources = Sources()
    sources.of(numbers).load(["x"])
    server.execute("UPDATE numbers SET t = 'last' WHERE x = 1")
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        sources.of(numbers).load(["t"])


def test_a_table_that_is_emptied_after_its_transaction_began_is_another_moment(server, numbers):
    """TRUNCATE empties it for transactions that began before, too."""
    sources = Sources()
    source = sources.of(numbers)
    with psycopg.connect(server.address()) as emptying:
        emptying.execute("SELECT pg_current_xact_id()")
        source.load(["x"])
        with source.moment.seen(source.server_table):
            emptying.execute("TRUNCATE numbers")
            emptying.commit()
            with pytest.raises(DataFileError, match="has changed since it was first read"):
                source.load(["x", "t"])


def test_a_reading_that_is_broken_off_leaves_no_transaction(server, numbers):
    sources = Sources()
    blocks = sources.of(numbers).blocks(["x"])
    version = next(blocks).version
    blocks.close()
    server.execute("ALTER TABLE numbers ADD COLUMN more int")
    assert sources.of(numbers).load(["x"]).version == version
    assert sources.of(numbers).load([]).rows == 5


@pytest.mark.parametrize("broken", ["pg_cancel_backend", "pg_terminate_backend"])
def test_rows_that_are_not_sent_to_the_end_are_an_error(server, shuffled, broken):
    read = Sources().of(shuffled).blocks(["wide"])
    assert next(read).rows > 0
    server.execute(
        f"SELECT {broken}(pid) FROM pg_stat_activity WHERE application_name = 'dpdb'"
        " AND state = 'active'"
    )
    with pytest.raises(DataFileError, match="cannot be read"):
        list(read)


def test_an_error_after_the_first_rows_is_raised_but_not_logged(server, caplog):
    """The driver logs what the server says where the connection is left busy."""
    failing = "COPY (SELECT 1 / (9 - i) FROM generate_series(1, 9) i) TO STDOUT"
    with psycopg.connect(server.address()) as connection:
        with pytest.raises(psycopg.Error), connection.cursor().copy(failing) as copy:
            _Sent(copy, keyed(b"")).read(1 << 20)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    assert not caplog.records


def test_progress_goes_to_the_end(shuffled):
    seen = []
    Sources().of(shuffled).load(["wide"], seen.append)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("changed", [False, True])
def test_a_lost_connection_is_made_anew_for_the_same_data(server, numbers, changed):
    engine = MemoryEngine()
    policy = Policy((numbers,))
    assert raw("SELECT COUNT(*) FROM numbers WHERE x > 2", policy, engine) == [[3]]
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpdb'"
    )
    with pytest.raises(DataFileError, match="cannot be read"):
        raw("SELECT COUNT(*) FROM numbers WHERE t = 'n1'", policy, engine)
    asked = "SELECT COUNT(*) FROM numbers WHERE t = 'n1'"
    if changed:
        server.execute("UPDATE numbers SET x = 9 WHERE x = 5")
        with pytest.raises(DataFileError, match="has changed since it was first read"):
            raw(asked, policy, engine)
    else:
        assert raw(asked, policy, engine) == [[1]]
    assert raw("SELECT COUNT(*) FROM numbers WHERE x > 2", policy, engine) == [[3]]


def test_a_witness_sees_all_declared_columns(server, numbers):
    witness = Remembering()
    sources = Sources()
    sources.of(numbers).load(["x"], None, witness)
    list(sources.of(numbers).blocks(["x"], None, witness))
    assert witness.seen == [("numbers", Sources().of(numbers).digest(witness.key))] * 2
    server.execute("UPDATE numbers SET t = 'another' WHERE x = 5")
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        sources.of(numbers).digest(witness.key)
    assert Sources().of(numbers).digest(witness.key) != witness.seen[0][1]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("halves", "public.halves is a view or in another server, where reading a row can fail"),
        ("nobodys", "public.nobodys: there is no such table"),
        ("other.numbers", "other.numbers: there is no such table"),
    ],
)
def test_what_is_no_table_is_refused(server, numbers, name, said):
    server.execute("CREATE VIEW halves AS SELECT 1 / (x - 3) AS x FROM numbers")
    with pytest.raises(DataFileError, match=said):
        connect(server.address(name))


def test_columns_are_those_that_are_declared(server, numbers):
    for columns, said in [
        ((Column("y", Kind.INTEGER),), "public.numbers: there is no column y"),
        ((Column("x", Kind.DATE),), "public.numbers: x holds integers, which are not read as"),
    ]:
        with pytest.raises(DataFileError, match=said):
            policy_of(Policy((table_of(server, "numbers", columns),)))


def test_a_role_that_may_not_see_all_rows_is_told_nothing_of_them(server, numbers):
    server.execute(
        "DROP ROLE IF EXISTS clerk",
        "CREATE ROLE clerk LOGIN",
        "ALTER TABLE numbers ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY few ON numbers USING (x > 3)",
    )
    table = Table("numbers", PEOPLE, numbers.columns,
                  server=server_table(server.address("numbers", user="clerk")))  # fmt: skip
    for granted in ("SELECT 1", "GRANT SELECT ON numbers TO clerk"):
        server.execute(granted)
        for names in (["x"], []):
            with pytest.raises(DataFileError) as caught:
                Sources().of(table).load(names)
            assert caught.value.message.endswith("?table=public.numbers cannot be read")
    server.execute("DROP OWNED BY clerk")


def test_a_connection_can_only_read(server, numbers):
    sources = Sources()
    sources.of(numbers).load([])
    connection = next(iter(sources._moments.values())).of(numbers.server)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("DELETE FROM public.numbers")


@pytest.fixture(scope="module")
def bytes_of_any(server):
    """A database whose texts are bytes of any encoding."""
    server.execute("CREATE DATABASE mixed ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    address = server.address(database="mixed") + "&client_encoding=UTF8"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute('CREATE TABLE t (id text, "é" text)')
        for text in (b"plain", b"caf\xe9", b"caf\xc3\xa9", b'\xff,"\n', None):
            written = "INSERT INTO t SELECT w, w FROM convert_from(%s, 'SQL_ASCII') w"
            connection.execute(written, (text,))
    return server


def test_bytes_that_are_no_text_are_those_of_a_csv_file(bytes_of_any, tmp_path):
    columns = (Column("id", Kind.TEXT), Column("é", Kind.TEXT))
    rows = [b"plain", b"caf\xe9", b"caf\xc3\xa9", b'"\xff,""\n"', b""]
    path = tmp_path / "t.csv"
    path.write_bytes("id,é\n".encode() + b"".join(row + b"," + row + b"\n" for row in rows))
    address = server_table(bytes_of_any.address("t", database="mixed"))
    on_file = Table("t", path, columns, "id")
    on_server = replace(on_file, server=address)
    assert cells(on_server, "id", "é") == cells(on_file, "id", "é")
    assert cells(on_server, "id")[0][1] is None
    assert "\N{REPLACEMENT CHARACTER}" in cells(on_server, "é")[0][1]
    for table in (on_server, on_file):
        engine = MemoryEngine(tables=(table,))
        assert raw('SELECT COUNT("é") FROM t', Policy((table,)), engine) == [[2]]
    [found] = connect(bytes_of_any.address("t", database="mixed")).policy.tables
    assert [column.name for column in found.columns] == ["id", "é"]


@pytest.mark.parametrize("kind", ["partition", "heir"])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_table_with_rows_of_another_server_is_refused_however_deep(server, kind, depth):
    """Reading a row of a foreign table can fail."""
    server.execute(
        "CREATE EXTENSION IF NOT EXISTS file_fdw",
        "CREATE SERVER IF NOT EXISTS elsewhere FOREIGN DATA WRAPPER file_fdw",
        "DROP TABLE IF EXISTS parent CASCADE",
    )
    far = "SERVER elsewhere OPTIONS (program 'echo none')"
    if kind == "partition":
        below = ["CREATE TABLE parent (x int) PARTITION BY RANGE (x)"]
        above = "parent"
        for at in range(depth):
            below.append(f"CREATE TABLE p{at} PARTITION OF {above} DEFAULT PARTITION BY RANGE (x)")
            above = f"p{at}"
        far = f"CREATE FOREIGN TABLE far PARTITION OF {above} DEFAULT {far}"
    else:
        below, above = ["CREATE TABLE parent (x int)"], "parent"
        for at in range(depth):
            below.append(f"CREATE TABLE p{at} () INHERITS ({above})")
            above = f"p{at}"
        far = f"CREATE FOREIGN TABLE far () INHERITS ({above}) {far}"
    server.execute(*below)
    parent = table_of(server, "parent", (integer(),))
    sources = Sources()
    assert sources.of(parent).load(["x"]).rows == 0
    connect(server.address("parent"))
    server.execute(far)
    for read in (["x"], []):
        with pytest.raises(DataFileError, match="or so is a partition of it"):
            Sources().of(parent).load(read)
        with pytest.raises(DataFileError, match="or so is a partition of it"):
            sources.of(parent).load(read)
    with pytest.raises(DataFileError, match="or so is a partition of it"):
        connect(server.address("parent"))


def test_texts_that_are_too_long_are_not_sent(server):
    """Two of 520 MB in one row would end COPY."""
    server.execute(
        "CREATE TABLE huge (x int, a text, b text, n numeric)",
        "INSERT INTO huge VALUES (1, 'a', 'b', 0.5)",
        "ALTER TABLE huge ALTER a SET COMPRESSION lz4, ALTER b SET COMPRESSION lz4",
        "INSERT INTO huge VALUES (2, repeat('w', 520 << 20), 'b', 1e100000)",
        "UPDATE huge SET b = repeat('w', 520 << 20) WHERE x = 2",
        "INSERT INTO huge SELECT 3, repeat('é', 5000), repeat('é', 5001), 7",
    )
    columns = (integer(), Column("a", Kind.TEXT), Column("b", Kind.TEXT), Column("n", Kind.NUMBER))
    huge = table_of(server, "huge", columns)
    x, a, b, n = cells(huge, "x", "a", "b", "n")
    assert x == [1, 2, 3]
    assert a == ["a", None, "é" * 5000]
    assert b == ["b", None, None]
    assert n == [0.5, None, 7]


def test_texts_that_could_not_be_sent_are_refused_beforehand(server):
    server.execute("CREATE DATABASE greek ENCODING 'ISO_8859_7' TEMPLATE template0")
    server.execute("CREATE TABLE t (x int)", database="greek")
    with pytest.raises(DataFileError, match="the encoding of the database is not one of UTF8"):
        connect(server.address("t", database="greek"))


def test_an_address_stands_where_a_file_does(server, numbers, capsys):
    assert main([server.address("numbers"), "--json", "-c", "SELECT COUNT(*) FROM numbers"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["rows"][0][0] - 5) < 200
    missing = "postgresql:///nowhere?host=/nowhere&password=secret&table=t"
    assert main([missing, "-c", "SELECT COUNT(*) FROM t"]) == 2
    said = capsys.readouterr().err
    assert "cannot connect to postgresql:///nowhere?table=public.t" in said
    assert "secret" not in said


def policy_file(folder, server, text):
    """A policy over a table of the server, with `{source}` for where it is."""
    path = folder / "odd.toml"
    path.write_text(text.format(source=f'source = "{server.address("odd")}"'))
    return str(path)


ODD = """
[budget]
name = "odd"
epsilon = 2
[tables.odd]
engine = "stream"
{source}
[tables.odd.columns]
"a b" = {{ type = "integer", bounds = [0, 3] }}
"Ä" = {{ type = "text", values = ["x"] }}
"""


@pytest.fixture
def odd(server):
    server.execute(
        "DROP TABLE IF EXISTS odd",
        'CREATE TABLE odd ("a b" int, "Ä" text)',
        "INSERT INTO odd VALUES (1, 'x'), (5, 'say \"y\"'), (NULL, 'x')",
    )


def test_the_rows_of_a_unit_are_found_where_engine_says_stream(server, odd, tmp_path):
    units = ODD.replace("{source}", '{source}\nunit = "Ä"\nrows_per_unit = 2')
    policy = read_policy(Path(policy_file(tmp_path, server, units)))
    session = Session(replace(policy, lasting=None), noise=Noiseless())
    assert list(session.execute("SELECT COUNT(*) FROM odd").rows) == [(2,)]


def test_check_tells_of_cells_on_a_server(server, odd, tmp_path, capsys):
    assert main(["check", policy_file(tmp_path, server, ODD)]) == 0
    said = capsys.readouterr().out
    assert "odd: 3 rows in postgresql:///postgres?table=public.odd, PostgreSQL" in said
    assert "a b (integer): 1 of 3 cells NULL" in said
    assert 'say "y"' in said


def test_init_drafts_a_policy_that_reads_the_server(server, odd, tmp_path, capsys):
    drafted = tmp_path / "drafted.toml"
    address = server.address("odd").replace("?", "?password=secret&")
    assert main(["init", address, "-o", str(drafted)]) == 0
    text = drafted.read_text()
    assert "secret" not in text
    assert "were read off rows" not in text
    [table] = connect(drafted).policy.tables
    assert [(c.name, c.kind) for c in table.columns] == [("a b", Kind.INTEGER), ("Ä", Kind.TEXT)]
    assert cells(table, "a b") == [[1, 5, None]]
    assert main(["init", str(drafted)]) == 2
    assert "drafted.toml is a policy already" in capsys.readouterr().err


def test_prepare_writes_a_table_of_a_server_into_a_file(server, odd, tmp_path, capsys):
    assert main(["prepare", server.address("odd"), "-o", str(tmp_path / "odd.parquet")]) == 0
    assert "as private as postgresql:///postgres?table=public.odd" in capsys.readouterr().err
    [table] = connect(tmp_path / "odd.parquet").policy.tables
    assert cells(table, "a b", "Ä") == [[1, 5, None], ["x", 'say "y"', "x"]]


@pytest.mark.parametrize("words", [["risk", "--query", "SELECT 1"], ["lab", "room", "--data"]])
def test_commands_that_need_a_file_say_so(words, capsys):
    with pytest.raises(SystemExit):
        main([*words, "postgresql:///hospital?table=people"])
    assert "a file is needed: dpdb prepare writes" in capsys.readouterr().err


def test_a_policy_beside_a_file_may_not_be_of_a_server(server, odd, tmp_path):
    policy_file(tmp_path, server, ODD)
    (tmp_path / "odd.csv").write_text("a b,Ä\n")
    with pytest.raises(PolicyError, match="is about other files than"):
        connect(tmp_path / "odd.csv")


def test_a_budget_that_lasts_notices_other_rows(server, odd, tmp_path, capsys):
    policy = policy_file(tmp_path, server, ODD)
    ledger = ["--ledger", str(tmp_path / "ledger")]
    assert main(["budget", "open", policy, *ledger]) == 0
    assert main([policy, *ledger, "-c", "SELECT COUNT(*) FROM odd"]) == 0
    server.execute('UPDATE odd SET "Ä" = \'z\' WHERE "a b" = 1')
    assert main([policy, *ledger, "-c", 'SELECT SUM("a b") FROM odd']) != 0
    assert "the data of table odd have changed" in capsys.readouterr().err


@pytest.mark.parametrize("relation", Neighbors)
def test_a_streamed_table_under_either_relation(server, odd, tmp_path, relation):
    policy = read_policy(Path(policy_file(tmp_path, server, ODD)))
    assert policy.tables[0].is_streamed
    session = Session(replace(policy, neighbors=relation, lasting=None), noise=Noiseless())
    answer = session.execute('SELECT COUNT(*), SUM("a b") FROM odd WHERE "Ä" = \'x\'')
    assert list(answer.rows) == [(2, 1)]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('source = "mysql:///hospital?table=t"', "source is the address of a PostgreSQL database"),
        ("source = 5", "source is a string"),
        ('source = "postgresql:///h?table=a&table=b"', "source names one table"),
        ('source = "postgresql:///h"\npath = "t.csv"', "path goes with a file"),
        ('source = "postgresql:///h"\nseparator = ";"', "separator goes with a file"),
    ],
)
def test_what_a_policy_may_say(tmp_path, said, message):
    path = tmp_path / "t.toml"
    path.write_text(f'[tables.t]\n{said}\n[tables.t.columns]\nx = {{ type = "integer" }}\n')
    with pytest.raises(PolicyError, match=message):
        read_policy(path)


def test_without_the_package_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataFileError, match="the package psycopg is not installed") as caught:
        connect("postgresql:///hospital?table=people")
    assert caught.value.hint == 'pip install "dpdb[postgresql]"'


@pytest.mark.parametrize(
    "host", ["reader:secret@[::1", "reader:sec%ret@db", "reader:secret@db db", "reader:secret@[x]"]
)
def test_a_password_is_never_repeated(host):
    """Neither by Python, which splits the address, nor by libpq, which quotes what it cannot read."""
    with pytest.raises(DpdbError) as caught:
        connect(f"postgresql://{host}/hospital?table=people")
    assert "sec" not in f"{caught.value.message} {caught.value.hint}"


def test_a_digest_is_of_the_columns_that_a_table_declares(server, numbers):
    """Whichever of two tables over the same rows is read first."""
    alone = replace(numbers, name="alone", columns=numbers.columns[:1])
    sources = Sources()
    digests = [sources.of(table).digest(b"key") for table in (numbers, alone)]
    assert digests == [Sources().of(table).digest(b"key") for table in (numbers, alone)]
    assert digests[0] != digests[1]
