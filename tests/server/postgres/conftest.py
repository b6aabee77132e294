from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpdb.policy.reading.reader import read_policy
from tests.server.postgres.wired import PEOPLE, POLICY, VISITS, Wired
from tests.server.served import NearDesk


@pytest.fixture(scope="session")
def wired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    """A door to tables of a policy, for everybody on this machine."""
    folder = tmp_path_factory.mktemp("wired")
    (folder / "people.toml").write_text(POLICY)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "visits.csv").write_text(VISITS)
    with Wired(NearDesk(read_policy(folder / "people.toml"))) as made:
        yield made
