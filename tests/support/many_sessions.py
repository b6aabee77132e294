"""Sessions that ask the same, each with noise of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpdb.policy.catalog import Policy
from dpdb.privacy.noise.protocols import Noise
from dpdb.session.backends import open_engine
from dpdb.session.session import Session
from tests.support.planned_once import planned_once


def sessions(policy: Policy, noises: Iterable[Noise]) -> Iterator[Session]:
    """A session for each noise: the tables are read once, and each statement is planned once."""
    engine = open_engine(policy)
    with planned_once():
        for noise in noises:
            session = Session(policy, noise=noise)
            session._loaded_engine = engine
            yield session
