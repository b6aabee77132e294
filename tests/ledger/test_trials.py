"""Ledgers under processes at once, kills and changed bytes: a few of what the long checks try."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.ledger_trials import Tampered, granted_at_once, survives_kills


@pytest.mark.usefixtures("form")
def test_processes_at_once_are_granted_exactly_the_limit(folder: Path) -> None:
    assert granted_at_once(folder, 4, 20) == 20


@pytest.mark.usefixtures("form")
def test_a_process_that_is_killed_was_charged_for_all_that_it_was_granted(folder: Path) -> None:
    survives_kills(folder, 5, Random(5))


def test_a_changed_byte_is_noticed_or_harmless(folder: Path) -> None:
    tampered = Tampered(folder)
    assert not tampered.is_noticed(0, 0)
    random = Random(1)
    places = random.sample(tampered.held, 100)
    noticed = [tampered.is_noticed(place, 1 << random.randrange(8)) for place in places]
    assert sum(noticed) > 90
