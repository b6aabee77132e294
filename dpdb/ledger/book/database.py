"""The files of a ledger: its database, which the owner alone can read, and its anchor.

An anchor is a file, kept elsewhere, that tells an older copy of a ledger from the ledger. A copy is
whole in itself. But the anchor was given the seal of each later entry, and the copy does not
lead to those.

Files are looked at by their names and never opened here: closing one would give up the locks that
SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from threading import RLock

from dpdb.errors import LedgerError
from dpdb.records import dataclass

APPLICATION = 0x64706462
"""The bytes `dpdb`, by which SQLite's header names the program that a file belongs to."""
FORMAT = 4
WITHOUT_USERS = 3
UNCORRECTED = 2
"""The format in which levels of tables that a SELECT makes could be mistaken for one another's."""
_USERS = (
    "CREATE TABLE users (name TEXT PRIMARY KEY, text TEXT NOT NULL, seal BLOB NOT NULL) "
    "STRICT, WITHOUT ROWID"
)
SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT NOT NULL, seal BLOB NOT NULL) "
    "STRICT",
    "CREATE TABLE kept (number INTEGER PRIMARY KEY, scope TEXT NOT NULL, who TEXT NOT NULL, "
    "text TEXT NOT NULL, seal BLOB NOT NULL) STRICT",
    "CREATE INDEX kept_of_scope ON kept (scope)",
    _USERS,
)
"""Entries, the released values that are kept, which are looked for by their scope, and accounts."""
WAIT = 20.0
"""For how many seconds a process waits for others."""


def held_by_another() -> LedgerError:
    """The error of a ledger that others have held for too long."""
    return LedgerError("another process holds the ledger", hint="ask again", told=True)


class Turns:
    """A lock that threads wait for no longer than WAIT: its holder may wait for a database."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=WAIT):
            raise held_by_another()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def connected(path: Path) -> sqlite3.Connection:
    """A connection that makes no file, and whose commits are on the disk."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True,
        timeout=WAIT, isolation_level=None, check_same_thread=False,
    )  # fmt: skip
    for setting in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF",
                    "cell_size_check = ON"):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    return connection


def fill(path: Path, add: Callable[[Callable[[str, tuple[object, ...]], object]], None]) -> None:
    """Make the tables in an empty file, with the rows that `add` inserts."""
    connection = connected(path)
    try:
        ask = connection.execute
        ask("PRAGMA journal_mode = WAL")
        ask(f"PRAGMA application_id = {APPLICATION}")
        ask(f"PRAGMA user_version = {FORMAT}")
        ask("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            ask(statement)
        add(ask)
        ask("COMMIT")
    finally:
        connection.close()


def is_ledger(connection: sqlite3.Connection) -> bool:
    """Whether the database is one that `fill` has made, in this version or an earlier one."""
    ask = connection.execute
    ask("BEGIN")  # another process may bring it up to date meanwhile
    try:
        found = (
            ask("PRAGMA application_id").fetchone()[0],
            format_of(connection),
            ask("PRAGMA journal_mode").fetchone()[0],
            ask("SELECT sql FROM sqlite_schema ORDER BY rowid").fetchall(),
        )
    finally:
        ask("ROLLBACK")
    schemas = {FORMAT: SCHEMA, WITHOUT_USERS: SCHEMA[:-1], UNCORRECTED: SCHEMA[:-1]}
    return found in [
        (APPLICATION, number, "wal", [(s,) for s in schema]) for number, schema in schemas.items()
    ]


def format_of(connection: sqlite3.Connection) -> int:
    """The number of the database's format."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def upgrade(connection: sqlite3.Connection) -> None:
    """Make a database of a former format one of the present, within a transaction."""
    connection.execute(_USERS)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


_MOUNTS = Path("/proc/self/mounts")
_NETWORKS = (
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone",
    "gfs2", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs",
    "virtiofs",
)  # fmt: skip
"""File systems of several machines, whose locks do not keep writers apart (SQLite's WAL mode)."""


def check_folder(path: Path) -> None:
    """Refuse a folder for the ledger `path` that others can change, or that is on a network."""
    folder = path.parent
    try:
        status = os.stat(folder)
    except OSError as error:
        raise LedgerError(f"cannot look at the folder of {path}: {error.strerror}") from None
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise LedgerError(
            f"others can change the folder of {path}, and so the ledger",
            hint=f"chmod go-w {folder}, or [budget] ledger = … for a folder of your own",
        )
    kind = _file_system(folder)
    if kind in _NETWORKS:
        raise LedgerError(
            f"{path} is on a network ({kind}), where locks do not keep two machines apart",
            hint="keep the ledger on a disk of the machine that dpdb runs on",
        )


def check_file(path: Path) -> None:
    """Refuse a ledger that is missing, or that others can read or change."""
    status = _status(path)
    if status is None:
        raise LedgerError(
            f"there is no ledger {path}, and none is made by asking",
            hint="its data owner makes it once: dpdb budget open POLICY; "
            "if it was there before, what it held must come from a backup",
        )
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise LedgerError(f"{path} is a link, or no file")
    if status.st_uid != os.geteuid():
        raise LedgerError(
            f"{path} belongs to another user", hint="dpdb runs as the user who owns the ledger"
        )
    if stat.S_IMODE(status.st_mode) != 0o600:
        raise LedgerError(
            f"the permissions of {path} are not those of a ledger", hint=f"chmod 600 {path}"
        )


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which tell a file from another of its name; None where there is none."""
    status = _status(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"cannot look at {path}: {error.strerror}") from None


def _file_system(folder: Path) -> str:
    """The kind of the file system that the folder is on; empty where the system does not say."""
    try:
        mounts = [line.split() for line in _MOUNTS.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    here = folder.resolve()
    kinds = {_unescaped(point): kind for _, point, kind, *_ in mounts}
    return next((kinds[str(each)] for each in (here, *here.parents) if str(each) in kinds), "")


def _unescaped(point: str) -> str:
    """A mount point as it is; the table writes blanks and backslashes in octal."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, character)
    return point


_RECORD = re.compile(rb"^([0-9]{1,18}) ([0-9a-f]{64})$", re.MULTILINE)
_TAIL = 2**14
"""The bytes at the end that are read: processes may add their records out of order."""


@dataclass(frozen=True)
class Anchor:
    """A file to which a record is added for each entry: its number and its seal."""

    path: Path

    def begin(self, number: int, seal: bytes) -> None:
        """Make the file, with one record; raises LedgerError where there is one."""
        self._write(os.O_CREAT | os.O_EXCL, number, seal)

    def add(self, number: int, seal: bytes) -> None:
        """Add a record, which is on the disk then; raises LedgerError."""
        self._write(0, number, seal)

    def last(self) -> tuple[int, bytes]:
        """The number and the seal of the last entry that the anchor was given."""
        try:
            with self.path.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - _TAIL, 0))
                records = _RECORD.findall(file.read())
        except OSError as error:
            raise self._refused(error) from None
        if not records:
            raise LedgerError(f"{self.path} is no anchor of a ledger")
        number, seal = max(records, key=lambda record: int(record[0]))
        return int(number), bytes.fromhex(seal.decode())

    def _write(self, how: int, number: int, seal: bytes) -> None:
        # A line end comes first, too: the record before may have been cut off by a crash.
        record = f"\n{number} {seal.hex()}\n".encode()
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | how, 0o600)
            try:
                if os.write(file, record) < len(record):
                    raise LedgerError(f"{self.path} has no room for another record")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"cannot use the anchor {self.path}: {error.strerror}",
            hint="without it an older copy of the ledger would not be noticed",
        )
