"""What the operating system lets a student's process use, at most."""

from __future__ import annotations

import resource

MEMORY = 4 << 30
"""Bytes of address space; numpy alone reserves a part of a gigabyte."""
FILE = 16 << 20
"""Bytes of the largest file that it can write."""


def set_limits(seconds: int) -> None:
    """Limits for this process and all that it starts. `seconds` are of processor time.

    They hold where nobody is left to end the process: its starter may have been interrupted.
    """
    wanted = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_FSIZE: FILE,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
