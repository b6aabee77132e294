"""The walls around a student's code: the commands that run a program in a sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import dpdb


class Sandbox(StrEnum):
    """The wall between a student's code and the referee."""

    BUBBLEWRAP = "bubblewrap"
    """Namespaces of its own: no files but Python's, no network, no other processes."""
    USER = "user"
    """Another user: the referee's files and memory are closed, the network and names are not."""
    NONE = "none"
    """The referee's own rights."""


PACKAGE = Path(dpdb.__file__).parent
"""The folder of dpdb's code."""


def libraries() -> Iterator[Path]:
    """The folders of installed packages."""
    for name in sys.path:
        if Path(name).name in ("site-packages", "dist-packages") and Path(name).is_dir():
            yield Path(name)


def wall(kind: Sandbox, uid: int) -> list[str]:
    """The command that runs another command in a sandbox of this kind.

    Limits on processes do not hold root, so root becomes another user in bubblewrap, too; others
    have a namespace of users there.
    """
    root = os.getuid() == 0
    match kind:
        case Sandbox.BUBBLEWRAP if root:
            kept = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            return [*bubblewrap(kept), *other_user(uid)]
        case Sandbox.BUBBLEWRAP:
            return bubblewrap(["--unshare-user"])
        case Sandbox.USER:
            return other_user(uid)
        case Sandbox.NONE:
            return []


def other_user(uid: int) -> list[str]:
    """The command that runs another command as a user of its own."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]


def bubblewrap(rights: Sequence[str]) -> list[str]:
    """bubblewrap with nothing to write to, and to read only what Python and dpdb are made of."""
    words = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += [*rights, "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if Path(name).is_symlink():
            words += ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            words += ["--ro-bind", name, name]
    for name in ("/etc/alternatives", "/etc/ld.so.cache"):
        words += ["--ro-bind-try", name, name]
    prefixes = map(Path, (sys.base_prefix, sys.prefix))
    code = {each for path in (*prefixes, PACKAGE, *libraries()) for each in (path, path.resolve())}
    for path in sorted(code):
        if any(parent in code or parent == Path("/usr") for parent in (path, *path.parents)[1:]):
            continue
        # Folders that bubblewrap makes unasked are closed to the other user.
        for parent in [*path.parents][-2::-1]:
            words += ["--dir", str(parent)]
        words += ["--ro-bind", str(path), str(path)]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]
