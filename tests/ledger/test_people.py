"""Accounts beside the chain: what they keep, that nobody else can change them, and their ledger."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger import custodian, people
from dpdb.ledger.book import database
from dpdb.ledger.book.book import Book
from dpdb.ledger.book.file_book import FileBook
from dpdb.ledger.book.state import decision_of
from dpdb.ledger.people import Accounts, key_of, new_token, new_user, scram_verifier, users
from dpdb.policy.catalog import Policy
from tests.support.lasting import policy_in, verify
from tests.support.ledger_trials import forked

PASSWORD = "correct horse battery"
TENTH = Fraction(1, 10)
in_both_forms = pytest.mark.usefixtures("form")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_COST", (16, 8, 1))


@pytest.fixture
def policy(folder: Path) -> Policy:
    return opened(folder, "00")


def opened(folder: Path, key: str) -> Policy:
    made = policy_in(folder)
    custodian.open_budget(made, "custodian", key * 32, {})
    return made


def book_of(policy: Policy) -> Book:
    return custodian.book_of(policy)


def add(
    policy: Policy, name: str, epsilon: Fraction | None = None, password: str = PASSWORD
) -> None:
    custodian.add_user(book_of(policy), "custodian", new_user(name, password), epsilon)


def accounts(policy: Policy) -> Accounts:
    assert policy.lasting is not None
    return Accounts(policy.lasting)


def limits(policy: Policy) -> object:
    book = book_of(policy)
    return decision_of(book, book.last().entry).limits


def changed(policy: Policy, statement: str, *values: object) -> None:
    """Change the file as somebody does who can write it."""
    assert policy.lasting is not None
    with closing(sqlite3.connect(policy.lasting.ledger)) as connection:
        connection.execute(statement, values)
        connection.commit()


# ------------------------------------------------------------------------------ what is kept


@in_both_forms
def test_a_password_and_a_token_lead_to_their_name_and_nothing_else_does(policy: Policy) -> None:
    add(policy, "alice")
    add(policy, "bob", password=f"{PASSWORD} 2")
    token = new_token(book_of(policy), "alice")
    known = accounts(policy)
    assert known.names == ("alice", "bob")
    assert known.by_password("alice", PASSWORD) == "alice"
    assert known.by_token(token) == "alice"
    for name, password in [
        ("alice", f"{PASSWORD} 2"), ("bob", PASSWORD), ("carol", PASSWORD), ("alice", ""), ("", ""),
        ("Alice", PASSWORD), ("alice\0", PASSWORD), ("\udc80", "\udc80"), ("alice", token),
        ("alice", PASSWORD + "x" * 10**6), ("x" * 10**6, PASSWORD),
    ]:  # fmt: skip
        assert known.by_password(name, password) is None
    for wrong in ["", token[:-1], token + "x", token.upper(), PASSWORD, "\udc80", "é", "x" * 10**6]:
        assert known.by_token(wrong) is None


def test_a_decoy_has_the_salt_of_its_name_after_a_restart_too(policy: Policy) -> None:
    add(policy, "alice")
    first, second = (accounts(policy) for _ in range(2))
    salts = [known.decoy(name).split("$")[1] for known in (first, second) for name in ("x", "y")]
    assert salts[:2] == salts[2:]
    assert salts[0] != salts[1]
    assert first.decoy("x") != first.decoy("x")  # as the rest of it is noise


def test_the_file_keeps_what_both_are_checked_with_and_nothing_to_log_in_by(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    add(policy, "alice")
    token = new_token(book_of(policy), "alice")
    user = users(book_of(policy), key_of(book_of(policy)))["alice"]
    assert user.password is not None
    name, n, r, p, salt, kept = user.password.split(" ")
    assert (name, int(n), int(r), int(p), len(bytes.fromhex(salt))) == ("scrypt", 2**15, 8, 3, 16)
    wanted = hashlib.scrypt(
        PASSWORD.encode(), salt=bytes.fromhex(salt), n=2**15, r=8, p=3, maxmem=2**26
    )
    assert kept == wanted.hex()
    assert user.token == hashlib.sha256(token.encode()).hexdigest()
    assert len(base64.urlsafe_b64decode(token.removeprefix("dpdb_") + "=")) == 32
    stored = b"".join(each.read_bytes() for each in book_of(policy).path.parent.iterdir())
    assert PASSWORD.encode() not in stored
    assert token.encode() not in stored
    assert abs(user.made - time.time()) < 60


def test_the_verifier_is_that_of_the_standard() -> None:
    """The exchange that RFC 7677 (3) gives as its example."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    kind, turns, keys = scram_verifier("pencil", salt).split("$")
    assert (kind, turns) == ("SCRAM-SHA-256", "4096:W22ZaJ0SNY7soEsUEjb6gQ==")
    stored, server = map(base64.b64decode, keys.split(":"))
    said = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    signature = hmac.digest(stored, said, "sha256")
    client = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client).digest() == stored
    answer = base64.b64encode(hmac.digest(server, said, "sha256"))
    assert answer == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_no_entry_tells_of_an_account(policy: Policy) -> None:
    add(policy, "alice")
    token = new_token(book_of(policy), "alice")
    book = book_of(policy)
    [first] = verify(book)
    user = users(book, key_of(book))["alice"]
    for secret in (token, user.token, user.password, user.scram, "alice"):
        assert secret is not None
        assert secret not in first.entry.text


def test_an_unknown_name_takes_the_same_work(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(policy, "alice")
    custodian.add_user(book_of(policy), "custodian", new_user("robot", None), None)
    known, work, scrypt = accounts(policy), list[object](), hashlib.scrypt

    def noted(password: bytes, **costs: int) -> bytes:
        work.append({"length": len(password)} | costs | {"salt": len(str(costs["salt"])) > 0})
        return scrypt(password, **costs)

    monkeypatch.setattr(hashlib, "scrypt", noted)
    for name in ("alice", "robot", "nobody", ""):
        assert known.by_password(name, "wrong") is None
    assert len(work) == 4
    assert all(each == work[0] for each in work)


@pytest.mark.parametrize(
    "name", ["", "x" * 101, "a\nb", " a", "a ", "e\u0301", "\udc80", "a\u202eb", "a\0"]
)
def test_a_name_that_cannot_be_told_from_another_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name of an account"):
        new_user(name, PASSWORD)


@in_both_forms
@pytest.mark.parametrize(
    "name", ["x" * 100, "Åse O'Neil", "日本", "alice@example.org", "a;DROP TABLE users", "👩‍🔬"[0]]
)
def test_any_other_name_is_one(policy: Policy, name: str) -> None:
    add(policy, name, TENTH)
    token = new_token(book_of(policy), name)
    known = accounts(policy)
    assert known.by_token(token) == known.by_password(name, PASSWORD) == name
    custodian.remove_user(book_of(policy), "custodian", name)
    assert accounts(policy).names == ()


def test_a_password_is_the_same_however_it_is_composed(policy: Policy) -> None:
    add(policy, "Åse", password="pass phrase é")
    assert accounts(policy).by_password("A\u030ase", "pass phrase e\u0301") == "Åse"


@pytest.mark.parametrize("password", ["short", "x" * 1025, "e\u0301" * 11])
def test_a_password_has_a_length(password: str) -> None:
    with pytest.raises(UsageError, match="12 to 1024"):
        new_user("alice", password)


# ----------------------------------------------------------------------- the ledger's limits


@in_both_forms
def test_an_account_with_epsilon_has_that_part_and_one_without_needs_one(policy: Policy) -> None:
    add(policy, "early")
    assert limits(policy) is None
    add(policy, "alice", TENTH)
    assert limits(policy) == {"alice": TENTH}
    with pytest.raises(UsageError, match="carol has none") as refused:
        add(policy, "carol")
    assert refused.value.hint == "--epsilon 0.1 gives one"
    custodian.grant(book_of(policy), "custodian", "carol", TENTH)
    add(policy, "carol")
    custodian.remove_user(book_of(policy), "custodian", "alice")
    assert limits(policy) == {"carol": TENTH}
    custodian.remove_user(book_of(policy), "custodian", "early")
    assert accounts(policy).names == ("carol",)
    verify(book_of(policy))


@in_both_forms
def test_what_fails_changes_nothing(policy: Policy) -> None:
    add(policy, "alice", TENTH)
    before = book_of(policy).last().entry.number
    with pytest.raises(UsageError, match="an account alice already"):
        add(policy, "alice", 2 * TENTH)
    with pytest.raises(UsageError, match="no account alise") as refused:
        custodian.remove_user(book_of(policy), "custodian", "alise")
    assert refused.value.hint == "did you mean alice?"
    custodian.grant(book_of(policy), "custodian", "bob", TENTH)
    for name in ("bob", "\udc80"):  # a part, and no account
        with pytest.raises(UsageError, match="no account"):
            custodian.remove_user(book_of(policy), "custodian", name)
        with pytest.raises(UsageError, match="no account"):
            new_token(book_of(policy), name)
    assert limits(policy) == {"alice": TENTH, "bob": TENTH}
    assert book_of(policy).last().entry.number == before + 1


# ------------------------------------------------------------------- a server that is running


def test_a_server_sees_each_change(policy: Policy) -> None:
    known = accounts(policy)
    assert known.names == ()
    add(policy, "alice")
    assert known.names == ("alice",)
    first = new_token(book_of(policy), "alice")
    mark = known.mark("alice")
    assert mark is not None
    assert known.by_token(first) == "alice"
    second = new_token(book_of(policy), "alice")
    assert known.by_token(first) is None
    assert known.by_token(second) == "alice"
    assert known.mark("alice") == mark, "a new token ends no session"
    custodian.remove_user(book_of(policy), "custodian", "alice")
    assert known.by_token(second) is None
    assert known.by_password("alice", PASSWORD) is None
    assert known.mark("alice") is None
    add(policy, "alice")
    assert known.by_token(second) is None
    assert known.mark("alice") not in (None, mark)


def test_a_server_does_not_go_on_with_a_file_that_was_replaced(policy: Policy) -> None:
    known, path = accounts(policy), book_of(policy).path
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)
    copy.rename(path)
    with pytest.raises(LedgerError, match="was replaced"):
        known.mark("alice")


# ------------------------------------------------------------ rows that somebody has changed


def test_a_row_that_was_changed_is_refused(policy: Policy, folder: Path) -> None:
    for name in ("alice", "bob"):
        add(policy, name)
    other = opened(folder, "11")
    add(other, "alice")
    with closing(sqlite3.connect(book_of(other).path)) as connection:
        [(text, seal)] = connection.execute("SELECT text, seal FROM users").fetchall()
    user = new_user("mallory", PASSWORD)
    cases = [
        ("UPDATE users SET text = ?, seal = ? WHERE name = 'alice'", text, seal),
        ("INSERT INTO users VALUES ('mallory', ?, ?)", user.text, user.seal(b"guess")),
        ("UPDATE users SET text = (SELECT text FROM users WHERE name = 'alice'), "
         "seal = (SELECT seal FROM users WHERE name = 'alice') WHERE name = 'bob'",),
        ("UPDATE users SET name = 'carol' WHERE name = 'bob'",),
        ("UPDATE users SET text = replace(text, '\"made\"', '\"made\" ') WHERE name = 'bob'",),
        ("UPDATE users SET seal = x'' WHERE name = 'bob'",),
    ]  # fmt: skip
    known, kept = accounts(policy), book_of(policy).path
    rows = book_of(policy).accounts()
    for statement, *values in cases:
        assert known.by_password("alice", PASSWORD) == "alice"
        changed(policy, statement, *values)
        for look in (lambda: known.by_password("alice", PASSWORD), lambda: known.mark("alice"),
                     lambda: accounts(policy).names, lambda: verify(book_of(policy))):  # fmt: skip
            with pytest.raises(LedgerError, match=f"in {kept} was changed"):
                look()
        changed(policy, "DELETE FROM users")
        for row in rows:
            changed(policy, "INSERT INTO users VALUES (?, ?, ?)", *row)
    changed(policy, "UPDATE users SET seal = x'00' WHERE name = 'bob'")
    custodian.remove_user(book_of(policy), "custodian", "bob")  # as the hint says
    assert known.by_password("alice", PASSWORD) == "alice"


# --------------------------------------------------------------------------- former formats


def as_former(policy: Policy) -> None:
    """Make of a new ledger one of the format before."""
    changed(policy, "DROP TABLE users")
    changed(policy, "PRAGMA user_version = 3")


def test_a_ledger_of_the_format_before_is_brought_up_to_date(policy: Policy, folder: Path) -> None:
    as_former(policy)
    assert policy.lasting is not None
    before = FileBook(policy.lasting.ledger)
    with closing(database.connected(before.path)) as connection:
        assert database.format_of(connection) == database.WITHOUT_USERS
    add(policy, "alice")
    assert accounts(policy).names == ("alice",)
    schema = "SELECT sql FROM sqlite_schema ORDER BY rowid"
    assert book_of(policy)._ask(schema) == book_of(opened(folder, "11"))._ask(schema)
    verify(before)  # one that was open goes on


def test_processes_that_bring_it_up_to_date_at_once_all_open_it(folder: Path) -> None:
    for _ in range(3):
        policy = opened(folder, "00")
        as_former(policy)
        children = [forked(lambda policy=policy: accounts(policy).names) for _ in range(6)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6


# ---------------------------------------------------------------------- several at once, kills


@in_both_forms
def test_of_those_who_add_a_name_at_once_one_does(policy: Policy) -> None:
    def add_one(number: int) -> None:
        user = new_user("alice", f"{PASSWORD} {number}")
        custodian.add_user(book_of(policy), "custodian", user, Fraction(number, 100))

    children = {forked(lambda n=number: add_one(n)): number for number in range(1, 7)}
    done = [number for child, number in children.items() if os.waitpid(child, 0)[1] == 0]
    [winner] = done
    assert limits(policy) == {"alice": Fraction(winner, 100)}
    assert accounts(policy).by_password("alice", f"{PASSWORD} {winner}") == "alice"
    assert book_of(policy).last().entry.number == 1


@in_both_forms
def test_a_process_that_is_killed_leaves_both_account_and_part_or_neither(policy: Policy) -> None:
    def change() -> None:
        book = book_of(policy)
        while True:
            custodian.add_user(book, "custodian", new_user("alice", None), TENTH)
            custodian.remove_user(book, "custodian", "alice")

    custodian.grant(book_of(policy), "custodian", "bob", TENTH)
    for place in range(20):
        before = book_of(policy).last().entry.number
        child = forked(change)
        while book_of(policy).last().entry.number == before:
            time.sleep(0.001)
        time.sleep(place / 1000)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        book = book_of(policy)
        with book.changing():  # a server may still commit what the process has sent
            found = decision_of(book, book.last().entry).limits
            names = [name for name, *_ in book.accounts()]
        assert isinstance(found, dict)
        assert ("alice" in found) == ("alice" in names)
        with suppress(UsageError):
            custodian.remove_user(book_of(policy), "custodian", "alice")
    assert len(verify(book_of(policy))) > 20
