"""From a policy to a session: its files are looked for, and its noise is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Policy
from dpdb.policy.csv_header import column_positions, read_header

if TYPE_CHECKING:
    from dpdb.session.session import Session


def check_files(policy: Policy) -> Policy:
    """The policy, once it is sure that there is a file to every table, with its columns."""
    for table in policy.tables:
        if not table.path.is_file():
            raise DataFileError(f"there is no file {table.path}")
        column_positions(table, read_header(table.path))
    return policy


def connect(
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
    teach: bool = False,
) -> Session:
    """A session on the policy's tables; with a `seed` its noise can be predicted.

    Its parts are imported here, not from here: sqlglot takes longer than a prompt to appear.
    """
    from dpdb.privacy.noise.seeded import seeded  # noqa: PLC0415
    from dpdb.session.session import Session  # noqa: PLC0415

    noise = None if seed is None else seeded(seed)
    return Session(policy, noise=noise, progress=progress, teach=teach)
