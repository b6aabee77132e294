"""Promises of the protocol, message by message: what is described is sent, and paid once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.server.postgres import held
from tests.server.postgres.mutated import (
    FLUSH,
    SYNC,
    bind,
    execute,
    message,
    messages,
    parse,
    query,
    start,
    text,
)
from tests.server.postgres.test_logins import all_of, opened
from tests.server.postgres.wired import PEOPLE, POLICY, VISITS, Wired
from tests.server.served import NearDesk

DESCRIBE_S, DESCRIBE_P = (message(b"D", each + b"\0") for each in (b"S", b"P"))
END = message(b"X")
COUNT = "SELECT COUNT(*) FROM people WHERE age > {}"


@dataclass
class Told:
    """What a client was sent after its login."""

    parts: Sequence[tuple[int, bytes]]

    def __post_init__(self) -> None:
        self.kinds = "".join(chr(kind) for kind, _ in self.parts)

    def of(self, kind: str) -> list[bytes]:
        return [body for each, body in self.parts if chr(each) == kind]

    @property
    def states(self) -> list[str]:
        """The SQLSTATEs of its errors."""
        return [body.partition(b"\0C")[2][:5].decode() for body in self.of("E")]


def told(wired: Wired, *sent: bytes) -> Told:
    got = all_of(opened(wired, start(user="alice", database="people"), *sent, END))
    parts = [*messages(got)]
    ready = next(at for at, (kind, _) in enumerate(parts) if kind == ord("Z"))
    return Told(parts[ready + 1 :])


def types(described: bytes) -> list[int]:
    """The types of a row description."""
    found, at = [], 2
    for _ in range(struct.unpack("!h", described[:2])[0]):
        at = described.index(b"\0", at) + 1
        found.append(struct.unpack("!i", described[at + 6 : at + 10])[0])
        at += 18
    return found


def labels(described: bytes) -> list[bytes]:
    found, at = [], 2
    for _ in range(struct.unpack("!h", described[:2])[0]):
        end = described.index(b"\0", at)
        found.append(described[at:end])
        at = end + 19
    return found


def binary(*values: bytes) -> bytes:
    return bind("", "", values, [1])


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("SELECT COUNT(*) + $1 FROM people", b"5"),
        ("SELECT SUM(CLAMP(age, 0, $1)) FROM people", b"40"),
        ("SELECT AVG(age), $1 AS x FROM people", b"7"),
        ("SELECT zip, COUNT(*) FROM people WHERE name = $1 GROUP BY zip", b"Abel"),
        ("SELECT MEDIAN(born) FROM people WHERE born > $1", b"1970-01-01"),
        ("SELECT COUNT(*) AS n FROM people WHERE member = $1", b"t"),
        ("SELECT $1::int, $1 || 'x', version() FROM pg_class", b"5"),
        ("SHOW BUDGET", None),
        ("EXPLAIN SELECT COUNT(*) FROM people WHERE age > $1", b"5"),
        ("/* a */ ( /* b */ SELECT COUNT(*) FROM people )", None),
        ("SELECT * FROM people LIMIT 0", None),
        ("SET dp_intervals = on", None),
        ("SELECT 1 + $1", b"2"),
        ("SELECT COUNT(*) FROM people WHERE zip IN ($1,$1) AND age < COALESCE($1, 40)", b"30"),
        ("SELECT QUANTILE(age, $1) FROM people", b"0.25"),
    ],
)
def test_what_is_described_is_what_is_sent(wired: Wired, statement: str, value: bytes) -> None:
    values = [] if value is None else [value]
    for intervals in ("off", "on"):
        got = told(
            wired, query(f"SET dp_intervals = {intervals}"), parse("", statement), DESCRIBE_S,
            bind("", "", values), DESCRIBE_P, execute(), SYNC,
        )  # fmt: skip
        described = got.of("T")
        assert len(described) in (0, 2)
        if got.states:  # refused by both, before it is described
            assert not described
            continue
        assert described[:1] == described[1:]
        for row in got.of("D"):
            assert struct.unpack("!h", row[:2])[0] == len(types(described[0]))
        assert bool(described) == (not got.of("n"))


def test_other_columns_than_were_described_are_refused_before_the_charge(wired: Wired) -> None:
    asked = len(wired.desk.executed())
    got = told(
        wired, parse("a", "SELECT COUNT(*) FROM people WHERE age > 44"), message(b"D", b"Sa\0"),
        SYNC, query("SET dp_intervals = on"), bind("", "a"), execute(), SYNC,
    )  # fmt: skip
    assert got.states == ["0A000"]
    assert b"cached plan must not change result type" in got.of("E")[0]
    got = told(wired, parse("", COUNT.format(44)), bind("", "", (), (), [0, 0, 1]), execute(), SYNC)
    assert got.states == ["08P01"]
    assert len([each for each in wired.desk.executed()[asked:] if "COUNT" in each]) == 0


def test_another_policy_is_seen_before_the_charge(
    wired: Wired, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A statement and a portal are described, and then processes read a policy of other types."""
    desk, asked = wired.desk, len(wired.desk.executed())
    path = tmp_path / "people.toml"
    path.write_text(POLICY.replace('age    = { type = "integer"', 'age = { type = "number"'))
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "visits.csv").write_text(VISITS)
    begun = (
        start(user="alice", database="people"), query("BEGIN"),
        parse("a", "SELECT SUM(age) FROM people WHERE age > 46"), message(b"D", b"Sa\0"),
        bind("b", "a"), message(b"D", b"Pb\0"), SYNC,
    )  # fmt: skip
    for sent in ((bind("", "a"), execute()), (message(b"E", b"b" + bytes(5)),)):
        with monkeypatch.context() as changed:
            connection = opened(wired, *begun)
            received = b""
            while not received.endswith(message(b"Z", b"T")) or received.count(b"SUM(age)") < 2:
                received += connection.recv(65536)
            changed.setattr(desk, "_policy", read_policy(path))
            changed.setattr(desk, "_sessions", {})
            changed.setattr(type(desk), "restarts", 1)
            connection.sendall(b"".join((*sent, SYNC, END)))
            assert b"cached plan must not change result type" in all_of(connection)
    assert not [each for each in desk.executed()[asked:] if "SUM" in each]


def test_a_value_is_the_constant_that_it_says_in_every_type_and_form(wired: Wired) -> None:
    whole = struct.pack("!q", 31)
    days = (1975 - 2000) * 365 - 6  # to 1975-01-01
    moment = 86_400_000_000 * 8401
    cases: dict[str, list[tuple[int, bytes, int]]] = {
        COUNT.format(31): [
            (0, b"31", 0), (20, b" 31", 0), (23, b"+31", 0), (1700, b"31.0", 0), (701, b"3.1e1", 0),
            (20, whole, 1), (21, whole[6:], 1), (23, whole[4:], 1), (26, whole[4:], 1),
            (701, struct.pack("!d", 31), 1), (700, struct.pack("!f", 31), 1),
            (1700, struct.pack("!hhHhh", 1, 0, 0, 0, 31), 1), (0, whole, 1),
        ],
        "SELECT COUNT(*) FROM people WHERE name = 'Bea'": [
            (each, b"Bea", form) for each in (0, 19, 25, 705, 1042, 1043) for form in (0, 1)
        ],
        "SELECT COUNT(*) FROM people WHERE member = TRUE": [
            (16, b"t", 0), (16, b"YES", 0), (0, b"true", 0), (16, b"\1", 1)
        ],
        "SELECT COUNT(*) FROM people WHERE born > DATE '1975-01-01'": [
            (1082, b"1975-01-01", 0), (0, b"1975-01-01", 0), (1082, struct.pack("!i", days), 1),
            (1082, b"1975-01-01T00:00:00.000+02:00", 0),
        ],
        "SELECT COUNT(*) FROM people WHERE seen > TIMESTAMP '2023-01-01 00:00:00'": [
            (1114, b"2023-01-01 00:00:00", 0), (1114, b"2023-01-01T00:00", 0), (0, b"2023-01-01 00:00:00+02", 0),
            (1114, struct.pack("!q", moment), 1), (1114, b"2023-01-01T00:00:00.000Z", 0),
            (1184, struct.pack("!q", moment), 1), (1184, b"2023-01-01T02:00:00.000+02", 0),
        ],
        "SELECT COUNT(*) FROM people WHERE age IN (31, -2)": [
            (0, b"{31,-2}", 0), (1005, b' { "31" , -2 } ', 0), (1016, array(20, "!q", 31, -2), 1),
            (1231, b"{31,-2}", 0), (1022, array(701, "!d", 31, -2), 1),
        ],
        "SELECT COUNT(*) FROM people WHERE name IN ('Bea', 'a\"\\{,', NULL)": [
            (each, b'{Bea,"a\\"\\\\{,",null}', 0) for each in (0, 1009, 1015)
        ],
    }  # fmt: skip
    constants = (
        "31", "'Bea'", "TRUE", "DATE '1975-01-01'", "TIMESTAMP '2023-01-01 00:00:00'",
        "IN (31, -2)", "IN ('Bea', 'a\"\\{,', NULL)",
    )  # fmt: skip
    for (written, forms), constant in zip(cases.items(), constants, strict=True):
        answer = told(wired, query(written)).of("D")
        paid = balance(wired)
        asked = written.replace(constant, "= ANY($1)" if constant.startswith("IN") else "$1")
        for oid, value, form in forms:
            got = told(
                wired, parse("", asked, [oid]), bind("", "", [value], [form]), execute(), SYNC
            )
            assert got.of("D") == answer, (written, oid, value, got.of("E"))
        assert balance(wired) == paid, written


def array(of: int, form: str, *members: float) -> bytes:
    """An array in binary."""
    packed = [struct.pack(form, each) for each in members]
    head = struct.pack("!iiiii", 1, 0, of, len(packed), 1)
    return head + b"".join(struct.pack("!i", len(each)) + each for each in packed)


def balance(wired: Wired) -> list[bytes]:
    return told(wired, query("SHOW BUDGET")).of("D")


@pytest.mark.parametrize(
    ("oid", "value", "form"),
    [
        (20, b"1_000", 0), (20, b"\xd9\xa1", 0), (21, b"40000", 0), (26, b"-1", 0), (20, b"9" * 40, 0),
        (701, b"NaN", 0), (701, b"1e99999", 0), (701, struct.pack("!d", float("inf")), 1),
        (1700, struct.pack("!hhHhh", 1, 0, 0, 0, -1), 1), (1700, struct.pack("!hhHh", 9, 0, 0, 0), 1),
        (1082, b"2020-02-30", 0), (1082, struct.pack("!i", 2**31 - 1), 1), (16, b"maybe", 0),
        (25, b"a\0b", 0), (20, b"1234567", 1), (1184, b"noon", 0), (1007, b"{1,{2}}", 0),
        (1007, b"{1,}", 0), (1007, b"1,2", 0), (1007, b'{"1}', 0), (1007, b"{1}{2}", 0),
        (1016, array(20, "!q", 31)[:-1], 1), (1016, b"\0\0\0\2" + bytes(30), 1),
        (1016, struct.pack("!iiiii", 1, 0, 20, 2**31 - 1, 1), 1), (1007, b"{1" + b",1" * 10**5, 0),
        (1007, b"{" + b"1," * 10**5 + b"1}", 0), (1009, b"{a" + b" " * 10**5 + b"{}", 0),
    ],
)  # fmt: skip
def test_a_value_that_is_none_of_its_type_is_refused(
    wired: Wired, oid: int, value: bytes, form: int
) -> None:
    got = told(wired, parse("", "SELECT $1", [oid]), bind("", "", [value], [form]), SYNC)
    assert got.states == ["22P02"]


def test_a_value_that_is_no_array_is_not_compared_with_its_members(wired: Wired) -> None:
    """Otherwise the text `{Bea}` would be a name, and the answer wrong and paid."""
    asked = parse("", "SELECT COUNT(*) FROM people WHERE name = ANY($1)", [25])
    assert told(wired, asked, SYNC).states == ["42809"]


def test_a_portal_that_is_resumed_does_not_run_again(wired: Wired) -> None:
    statement = "SELECT zip, COUNT(*) FROM people WHERE age > 33 GROUP BY zip"
    before = len(wired.desk.executed())
    got = told(
        wired, query("BEGIN"), parse("", statement), bind("p", ""), execute("p", 1), SYNC,
        execute("p", 1), execute("p", 1), execute("p"), SYNC,
    )  # fmt: skip
    assert got.kinds == "CZ12NDsZDsCCZ"
    assert wired.desk.executed()[before:].count(statement) == 1
    got = told(wired, parse("", statement), bind("p", ""), SYNC, execute("p"), SYNC)
    assert got.states == ["34000"]  # it ended with its transaction


def test_a_portal_is_described_where_a_cursor_has_its_name(wired: Wired) -> None:
    cursor = query("BEGIN"), query("DECLARE c CURSOR FOR SELECT 'x' AS a, 2 AS b")
    portal = parse("", COUNT.format(1)), bind("c", ""), message(b"D", b"Pc\0"), execute("c")
    got = told(wired, *cursor, *portal, SYNC)
    assert [struct.unpack("!h", each[:2]) for each in got.of("T") + got.of("D")] == [(1,), (1,)]


def test_what_was_charged_before_an_error_stays_charged_and_told(wired: Wired) -> None:
    first = balance(wired)
    got = told(wired, query("SELECT COUNT(*) FROM people WHERE age > 55; SELECT nam FROM people"))
    assert got.kinds == "TDNCEZ"
    assert got.states == ["42703"]
    second = balance(wired)
    assert second != first
    got = told(
        wired, query("BEGIN; SELECT COUNT(*) FROM people WHERE age > 56; SELECT nam FROM people"),
        query(COUNT.format(57)), query("ROLLBACK"), query(COUNT.format(56)),
    )  # fmt: skip
    assert got.states == ["42703", "25P02"]
    assert got.of("Z") == [b"E", b"E", b"I", b"I"]
    third = balance(wired)
    assert third != second
    assert not [each for each in wired.desk.executed() if each == COUNT.format(57)]


def test_no_rows_are_free(wired: Wired) -> None:
    paid = balance(wired)
    for statement in (
        "SELECT COUNT(*) FROM people WHERE age > 58 LIMIT 0",
        "SELECT zip, SUM(age) AS s FROM people WHERE age > 58 GROUP BY zip LIMIT 0",
        "SELECT * FROM (SELECT zip, COUNT(*) FROM people WHERE age > 58 GROUP BY zip) q WHERE 1 = 0",
    ):
        got = told(wired, query(statement))
        assert got.kinds == "TCZ"
        assert types(got.of("T")[0])[:2] == ([20, 20] if "zip" in statement else [20])
    assert balance(wired) == paid
    for statement in (
        "SELECT COUNT(*) FROM people WHERE 1 = 0",
        "SELECT SUM(age) FROM people WHERE false LIMIT 5",
    ):
        assert told(wired, query(statement)).kinds == "TDNCZ"


def test_a_statement_that_is_prepared_once_is_paid_once(wired: Wired) -> None:
    asked = [bind("", "a", [b"35"]), execute()]
    got = told(wired, parse("a", COUNT.format("$1")), *asked, SYNC)
    paid = balance(wired)
    again = told(wired, parse("a", COUNT.format("$1")), *asked, *asked, FLUSH, *asked, SYNC)
    assert again.of("D") == got.of("D") * 3
    assert balance(wired) == paid


def test_what_a_connection_holds_is_bounded(wired: Wired) -> None:
    names = [parse(f"s{n}", "SELECT 1") for n in range(257)]
    assert told(wired, *names, SYNC).states == ["53400"]
    long = [parse("x" * 500_000 + str(n), "SELECT 1") for n in range(5)]
    assert told(wired, *long, SYNC).states == ["53400"]
    freed = told(wired, *names[:256], query('DEALLOCATE "s0"'), names[0], SYNC)
    assert freed.states == []
    many = message(b"P", text("") + text("SELECT 1") + struct.pack("!h", 2000) + b"\0" * 8000)
    assert told(wired, many, SYNC).states == ["54000"]


def test_rows_that_wait_are_bounded(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MOST_WAITING_BYTES", 20)
    statement = "SELECT zip, COUNT(*) FROM people GROUP BY zip"
    asked = [
        part
        for name in ("a", "b")
        for part in (parse("", statement), bind(name, ""), execute(name, 1))
    ]
    got = told(wired, query("BEGIN"), *asked, SYNC)
    assert got.kinds == "CZ12NDs12NDEZ"
    assert got.states == ["53400"]


def everything(desk: NearDesk) -> list[bytes]:
    """All that is told of a policy without an answer from its rows."""
    with Wired(desk) as wired:
        relations = [
            "pg_class", "pg_attribute", "pg_type", "pg_namespace", "pg_database", "pg_roles",
            "information_schema.columns", "information_schema.tables", "pg_stats", "pg_tables",
        ]  # fmt: skip
        described = [
            part
            for column in ("age", "income", "zip", "name", "born", "seen", "member")
            for part in (
                parse("", f"SELECT {column}, COUNT(*), MAX(income) FROM people GROUP BY {column}"),
                DESCRIBE_S, SYNC, query(f"EXPLAIN SELECT AVG({column}) FROM people"),
                query(f"SELECT {column} FROM people"), query(f"SELECT {column} FROM people LIMIT 0"),
            )
        ]  # fmt: skip
        sent = [query(f"SELECT * FROM {each}") for each in relations]
        got = all_of(opened(wired, start(user="alice", database="people"), *sent, *described, END))
    return [body for kind, body in messages(got) if kind != ord("K")]


def test_nothing_but_answers_follows_a_row(tmp_path: Path) -> None:
    """Every byte of the catalogue, of Describe, of prices and refusals, beside another file."""
    (tmp_path / "people.toml").write_text(POLICY)
    (tmp_path / "visits.csv").write_text(VISITS)
    seen = []
    for rows in (PEOPLE, PEOPLE + "64,999999.99,80127,Zoe" + "e" * 3000 + ",2010-12-31,,\n"):
        (tmp_path / "people.csv").write_text(rows)
        seen.append(everything(NearDesk(read_policy(tmp_path / "people.toml"))))
    assert seen[0] == seen[1]
    assert len(seen[0]) > 100
