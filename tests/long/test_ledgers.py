"""Ledgers of lasting budgets under many processes, many kills and every changed byte."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest

from tests.long.parts import Part
from tests.support.crashes import Crashes
from tests.support.desks import killed_under_load
from tests.support.lasting import folder_in_memory, ledgers_on
from tests.support.ledger_trials import (
    Tampered,
    granted_at_once,
    survives_kills,
    survives_stops,
)
from tests.support.postgres import running_server
from tests.support.shared_budget import shared_to_the_last

MOST_BYTES = 8000
"""No fewer than a small ledger holds."""
PART = 1500
"""So many bytes are changed in one part."""


@pytest.mark.examples(100, 10)
def test_sixteen_processes_are_granted_exactly_the_limit(examples: int, tried) -> None:
    """On a real disk, where commits wait for it."""
    with tempfile.TemporaryDirectory() as folder:
        assert granted_at_once(Path(folder), 16, examples) == examples
    tried(f"{examples} charges for 16 processes")


@pytest.mark.examples(200, 2)
def test_processes_killed_at_random_moments(examples: int, tried) -> None:
    with folder_in_memory() as folder:
        unheard = survives_kills(folder, examples, Random(200))
    tried(f"{examples} kills; {unheard} charges that nobody heard of")


@pytest.mark.examples(200, 1)
def test_a_server_of_postgresql_stopped_at_random_moments(examples: int, tried) -> None:
    with running_server("") as server, ledgers_on(server), folder_in_memory() as folder:
        unheard = survives_stops(folder, server, examples, Random(200))
    tried(f"{examples} stops; {unheard} charges that nobody heard of")


@pytest.mark.examples(200, 2)
@pytest.mark.parametrize("pool", [False, True])
def test_workers_of_a_server_killed_under_load(examples: int, tried, *, pool: bool) -> None:
    unheard = killed_under_load(examples, Random(200), pool=pool)
    tried(f"{examples} kills; {unheard} charges that nobody heard of")


@pytest.mark.examples(300, 3)
def test_sessions_killed_from_plan_to_page(examples: int, tried) -> None:
    """At calls of functions that divide a statement evenly, from the first to the last."""
    with folder_in_memory() as folder:
        crashes = Crashes.in_folder(folder)
        calls = crashes.calls()
        places = [1 + (calls - 1) * part // (examples - 1) for part in range(examples)]
        each = [crashes.killed_at(place) for place in places]
    assert (0, 1) not in each
    assert each[0] == (0, 0)
    assert each[-1] == (1, 1)
    tried(f"{examples} of {calls} calls: {each.count((1, 0))} charges without an answer")


@pytest.mark.examples(200, 3)
def test_two_analysts_share_to_the_last_while_a_third_is_killed(examples: int, tried) -> None:
    """Each runs dpdb; whoever is killed was charged for all that he was told, and hardly more."""
    with folder_in_memory() as folder:
        shared = shared_to_the_last(folder, examples, Random(2))
    assert shared.kills > 0
    shared.check()
    tried(", ".join([f"{name} was told of ε {float(each)}" for name, each in shared.told.items()])
          + f"; {shared.kills} kills")  # fmt: skip


@pytest.mark.examples(MOST_BYTES, 5, most=PART)
def test_every_byte_of_a_ledger(part: Part, tried) -> None:
    """The bytes that hold something, each changed in some way."""
    with folder_in_memory() as folder:
        tampered = Tampered(folder)
        held = tampered.held
        assert len(held) <= MOST_BYTES
        first, random = (part.seed - 1) * PART, Random(part.seed)
        places = held[first : first + part.examples]
        noticed = [tampered.is_noticed(place, random.randrange(1, 256)) for place in places]
    tried(f"{len(places)} bytes, {sum(noticed)} noticed, the others harmless")
