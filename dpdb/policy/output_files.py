"""The files that dpdb writes for its users: which may be written, and how none is left half done.

`check_output` alone says whether a path may be written, and every writer asks it: answers, pages,
figures, drafts of policies, Parquet files. It looks at the file behind a name, so that links, `..`
and other spellings change nothing. A file is written beside its place, and takes it when it is
whole.

A file that was there is replaced where dpdb wrote it and nobody changed it since. So that the next
process knows, the numbers that the system keeps of such files (device, inode, size, time) are noted
in the user's state folder; no name is.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import BinaryIO

from dpdb.errors import UsageError
from dpdb.policy.catalog import Policy
from dpdb.policy.csv.packing import unpacked_name
from dpdb.policy.storage import data_files, is_pattern

MOST_NOTED = 2_000
"""The most files that are noted as written by dpdb; the oldest are forgotten first."""
COMPANIONS = ("-wal", "-shm", "-journal", ".wal")
"""The endings that SQLite and DuckDB give to files that belong to a database."""
_DATABASE = re.compile(rb"SQLite format 3\0|.{8}DUCK", re.DOTALL)
_ANCHOR = re.compile(rb"\n?[0-9]{1,18} [0-9a-f]{64}\n")
_HEAD = 128
"""The number of bytes that tell whether a file is a database or an anchor."""


def files_of_policy(policy: Policy) -> tuple[Path, ...]:
    """The files that belong to a policy: data, the policies beside them, ledger, anchor, key."""
    data = [path for table in policy.tables for path in data_files(*table.paths)]
    patterns = [path for table in policy.tables for path in table.paths if is_pattern(path)]
    policies = [unpacked_name(path).with_suffix(".toml") for path in data]
    lasting = policy.lasting
    kept = () if lasting is None else (lasting.ledger, lasting.anchor, lasting.key)
    return (*data, *patterns, *policies, *(path for path in kept if isinstance(path, Path)))


def check_output(
    path: Path, kept: Collection[Path] = (), *, force: bool = False, new: bool = False
) -> Path:
    """The path of the file that an output to `path` becomes; raises UsageError where none may.

    No file becomes one of the `kept` ones, or part of a database. A regular file is replaced where
    dpdb wrote it, unless it is named as a policy, or where `force` says so, and never where a `new`
    file is wanted. Devices and pipes hold nothing that could be lost.
    """
    try:
        named = path.expanduser()
        target, status = Path(os.path.realpath(named)), _status(named)
        # A ledger is known by its name and never opened here, or SQLite's locks would be given up.
        belongs = any(_is_one_of(each, kept) for each in (target, *_bases(target)))
        if belongs or _is_part_of_database(target):
            raise UsageError(f"{path} is read by dpdb, and is not overwritten")
        if new and status is not None:
            raise UsageError(f"there is a file {path} already")
        if status is None:
            return target
        if stat.S_ISCHR(status.st_mode) or stat.S_ISFIFO(status.st_mode):
            return named
        if not stat.S_ISREG(status.st_mode) or named.parts[:2] in (("/", "dev"), ("/", "proc")):
            raise UsageError(f"cannot write {path}: it is a folder, or open already, or no file")
        noted = _mark(status) in _own or _mark(status) in _noted()
        if not force and (target.suffix.lower() == ".toml" or not noted):
            raise UsageError(
                f"there is a file {path}, and dpdb did not write what is in it",
                hint="take another name; started with --force, dpdb replaces it",
            )
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    except (ValueError, RuntimeError):  # a NUL, or nobody's home
        raise UsageError(f"{path} is not the name of a file") from None
    return target


class OutputFile:
    """A file that takes its place when it is closed; a device or a pipe is written at once."""

    def __init__(
        self,
        path: Path,
        kept: Collection[Path] = (),
        *,
        force: bool = False,
        new: bool = False,
        mode: int = 0o666,
    ):
        """Raises UsageError where nothing may be written to `path`; see `check_output`."""
        self.path = path
        self._kept, self._force, self._new = kept, force, new
        target = check_output(path, kept, force=force, new=new)
        self._part: Path | None = None
        """The file beside the place; None for a device or a pipe."""
        try:
            status = _status(target)
            if status is None or stat.S_ISREG(status.st_mode):
                self._part = target.with_name(f".dpdb-{secrets.token_hex(8)}.part")
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                self.stream = FileIO(os.open(self._part, flags, mode), "w")
                if status is not None:
                    os.fchmod(self.stream.fileno(), status.st_mode & 0o777)
            else:
                self.stream = FileIO(os.open(target, os.O_WRONLY), "w")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def write(self, content: bytes) -> None:
        """Write all of it; raises OSError, and then nothing of it is in the file."""
        start = 0 if self._part is None else self.stream.tell()
        left = memoryview(content)
        try:
            while left:
                left = left[self.stream.write(left) or 0 :]
        except OSError:
            if self._part is not None:
                self.stream.truncate(start)
                self.stream.seek(start)
            raise

    def close(self) -> None:
        """Put the file in its place; one that is empty is dropped, and leaves what was there.

        Raises UsageError, which says where the content is.
        """
        if self._part is None:
            with suppress(OSError):
                self.stream.close()
            return
        if not self.stream.tell():
            self.discard()
            return
        try:
            os.fsync(self.stream.fileno())
            written = os.fstat(self.stream.fileno())
            self.stream.close()
            # Others may have made a file of this name in the meantime.
            target = check_output(self.path, self._kept, force=self._force, new=self._new)
            self._part.replace(target)
        except (OSError, UsageError) as error:
            reason = error.message if isinstance(error, UsageError) else error.strerror
            raise UsageError(
                f"cannot write {self.path}: {reason}", hint=f"what was written is in {self._part}"
            ) from None
        if not self._new:
            _note(written)

    def discard(self) -> None:
        """Leave everything as it was."""
        with suppress(OSError):
            self.stream.close()
        if self._part is not None:
            self._part.unlink(missing_ok=True)


@contextmanager
def written(
    path: Path,
    kept: Collection[Path] = (),
    *,
    force: bool = False,
    new: bool = False,
    mode: int = 0o666,
) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of `path` at the end; after an error nothing does.

    Raises UsageError where it cannot be written.
    """
    file = OutputFile(path, kept, force=force, new=new, mode=mode)
    buffered = BufferedWriter(file.stream)
    try:
        yield buffered
        buffered.detach()
    except BaseException as error:
        file.discard()
        if isinstance(error, OSError):
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        raise
    file.close()


def save(path: Path, content: bytes, kept: Collection[Path] = (), *, force: bool = False) -> None:
    """Write a whole file, or raise UsageError and leave everything as it was."""
    with written(path, kept, force=force) as file:
        file.write(content)


def xdg_home(kind: str, default: str, environment: Mapping[str, str] = os.environ) -> Path:
    """dpdb's directory in an XDG base directory; a relative one is ignored, as XDG demands."""
    base = Path(environment.get(f"XDG_{kind}_HOME", ""))
    return (base if base.is_absolute() else Path.home() / default) / "dpdb"


def _status(path: Path) -> os.stat_result | None:
    """The state of the file behind a name; None where there is none."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_one_of(target: Path, kept: Collection[Path]) -> bool:
    """Whether a file is one of the `kept` ones, or would be if it were made."""
    for each in kept:
        own = Path(os.path.realpath(each))
        if is_pattern(each) and fnmatchcase(_folded(str(target)), _folded(str(own))):
            return True
        with suppress(OSError):
            if target.samefile(own):
                return True
        with suppress(OSError):
            same_folder = target.parent.samefile(own.parent)
            if same_folder and _folded(target.name) == _folded(own.name):
                return True
    return False


def _folded(name: str) -> str:
    """The name in one form of all that a system may take for the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def _bases(target: Path) -> Iterator[Path]:
    """The databases that a file of this name would belong to."""
    name = target.name
    for suffix in COMPANIONS:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            yield target.with_name(name[: -len(suffix)])


def _is_part_of_database(target: Path) -> bool:
    """Whether a file is a database, an anchor, or named as a companion of a database."""
    if _ANCHOR.match(_head(target)):
        return True
    return any(_DATABASE.match(_head(each)) for each in (target, *_bases(target)))


def _head(path: Path) -> bytes:
    """The first bytes of a regular file; of nothing else any."""
    status = _status(path)
    if status is None or not stat.S_ISREG(status.st_mode):
        return b""
    with path.open("rb") as file:
        return file.read(_HEAD)


_own: set[str] = set()
"""The files that this process wrote."""


def _mark(status: os.stat_result) -> str:
    """The numbers by which a file is known, and is not known any more when it was changed."""
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _noted() -> list[str]:
    """The files that earlier processes wrote, the last at the end."""
    try:
        return (xdg_home("STATE", ".local/state") / "outputs").read_text("ascii").splitlines()
    except (OSError, ValueError, RuntimeError):
        return []


def _note(status: os.stat_result) -> None:
    """Remember that dpdb wrote a file; where there is no state folder, in this process alone."""
    mark = _mark(status)
    _own.add(mark)
    with suppress(OSError, RuntimeError):
        folder = xdg_home("STATE", ".local/state")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = folder / f".outputs-{secrets.token_hex(8)}"
        lines = [*_noted(), mark][-MOST_NOTED:]
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, "".join(f"{line}\n" for line in lines).encode("ascii"))
        finally:
            os.close(descriptor)
        part.replace(folder / "outputs")
