"""Power that is cut: what SQLite has written and not synced may be on the disk, or not.

A layer between SQLite and its files, at its VFS (https://www.sqlite.org/vfs.html), notes what is
written, and what is on the disk for certain, which is what a file held at its last sync.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

Pointer, Int, Long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_OPEN = ctypes.CFUNCTYPE(Int, Pointer, Pointer, Pointer, Int, Pointer)
_WRITE = ctypes.CFUNCTYPE(Int, Pointer, Pointer, Int, Long)
_TRUNCATE = ctypes.CFUNCTYPE(Int, Pointer, Long)
_SYNC = ctypes.CFUNCTYPE(Int, Pointer, Int)


class _Vfs(ctypes.Structure):
    _fields_ = [("version", Int), ("size", Int), ("longest", Int), ("next", Pointer),
                ("name", Pointer), ("data", Pointer), ("open", _OPEN)]  # fmt: skip


class _Methods(ctypes.Structure):
    _fields_ = [("version", Int), ("close", Pointer), ("read", Pointer), ("write", _WRITE),
                ("truncate", _TRUNCATE), ("sync", _SYNC), ("others", Pointer * 13)]  # fmt: skip


class _File(ctypes.Structure):
    _fields_ = [("methods", ctypes.POINTER(_Methods))]


@dataclass
class Disk:
    """What one file holds."""

    synced: bytes = b""
    """What is on the disk for certain."""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """What was written since, in order: bytes at a place, or None for where the file is cut."""

    def after(self, kept: Callable[[], bool]) -> bytes:
        """What is there after a cut, if those pending writes came to the disk that are kept."""
        held = bytearray(self.synced)
        for place, data in self.pending:
            if kept():
                _apply(held, place, data)
        return bytes(held)

    def sync(self) -> None:
        self.synced = self.after(lambda: True)
        self.pending.clear()


def _apply(held: bytearray, place: int, data: bytes | None) -> None:
    if data is None:
        del held[place:]
        return
    held.extend(bytes(max(place - len(held), 0)))
    held[place : place + len(data)] = data


class Power:
    """The disks of all files that SQLite opened, and what to do each time it writes."""

    def __init__(self) -> None:
        self.disks: dict[Path, Disk] = {}
        self.on_write: Callable[[], None] = lambda: None

    def cut(self, folder: Path, random: Random | None = None) -> None:
        """Write into the folder what is left of all files; some of what was pending, at random.

        Without `random` all that was pending is lost.
        """
        for path, disk in self.disks.items():
            left = disk.after(lambda: random is not None and random.random() < 0.5)
            copy = folder / path.name
            copy.unlink(missing_ok=True)
            copy.touch(mode=0o600)
            copy.write_bytes(left)


_KEPT: list[Any] = []
"""What SQLite may still point to: files live as long as they like."""


def _library() -> ctypes.CDLL:
    """The library that this Python has its SQLite from; the test is skipped where there is none."""
    import sqlite3  # noqa: F401, PLC0415 (it is among the maps once it is imported)

    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = [line.split()[-1] for line in maps if "libsqlite3" in line]
    if not paths:
        pytest.skip("SQLite is a part of this Python, and no library beside it")
    return ctypes.CDLL(paths[0])


@contextmanager
def power() -> Iterator[Power]:
    """The layer, for files that are opened within; without it nothing is noted."""
    library = _library()
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    vfs = library.sqlite3_vfs_find(None).contents
    # A field of a structure is its present value, whatever that becomes.
    whole, noting = _OPEN(ctypes.cast(vfs.open, Pointer).value or 0), Power()

    def opened(this: int, name: int, file: int, flags: int, out: int) -> int:
        code: int = whole(this, name, file, flags, out)
        if code == 0 and name:
            path = Path(ctypes.string_at(name).decode())
            _watch(ctypes.cast(file, ctypes.POINTER(_File)).contents, path, noting)
        return code

    callback = _OPEN(opened)
    _KEPT.extend((callback, whole))
    vfs.open = callback
    try:
        yield noting
    finally:
        vfs.open = whole


def _watch(file: _File, path: Path, noting: Power) -> None:
    """Put the layer around one file."""
    disk = noting.disks.get(path)
    if disk is None:
        disk = noting.disks[path] = Disk(path.read_bytes())
    whole = file.methods.contents
    methods = _Methods.from_buffer_copy(whole)

    def write(this: int, data: int, size: int, place: int) -> int:
        disk.pending.append((place, ctypes.string_at(data, size)))
        noting.on_write()
        return int(whole.write(this, data, size, place))

    def truncate(this: int, size: int) -> int:
        disk.pending.append((size, None))
        return int(whole.truncate(this, size))

    def sync(this: int, flags: int) -> int:
        code = int(whole.sync(this, flags))
        disk.sync()
        noting.on_write()
        return code

    methods.write, methods.truncate, methods.sync = _WRITE(write), _TRUNCATE(truncate), _SYNC(sync)
    _KEPT.extend((methods, whole, methods.write, methods.truncate, methods.sync))
    file.methods = ctypes.pointer(methods)
