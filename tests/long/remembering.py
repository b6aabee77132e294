"""Asking one statement many times, without working out anew what cannot have changed.

Each run goes through `Session.execute`, from the text to the answer: the ledger takes its price,
the executor holds the receipt against the plan, a mechanism adds fresh noise to the exact result,
and the answer is made of that. Whatever follows from the text, the policy and the file alone is
worked out for the first run, and remembered for the others:

    statement, _asked        what a text asks for, under these settings
    possible_plans           the plans of what is asked for
    exact                    the exact result of a plan, for these noisy answers of its subqueries
    statistic_and_scale      the order statistic of these values, and its smooth noise's scale
    reports, interval_notes  what an answer says of a plan's releases

No noise is remembered. Noise for a single value is drawn for a thousand values at once, and each
of these draws is given out once. Intervals, which follow from the values, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpdb.answers import accuracy_notes, release_reports
from dpdb.answers.tables import rows
from dpdb.engines.memory import MemoryEngine
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Policy
from dpdb.privacy.noise import refinement, smooth
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session import session
from dpdb.session.backends import PublicFacts
from dpdb.session.purchases import memory
from dpdb.vectors.vector import Vector

AHEAD = 1000
"""So few that the sampler's blocks are small, as they are for a single value."""


@contextmanager
def remembering() -> Iterator[None]:
    """Sessions remember, as long as this context lasts."""
    with pytest.MonkeyPatch.context() as patched:
        for owner, name in (
            (session, "statement"),
            (session.Session, "_asked"),
            (memory, "possible_plans"),
            (MemoryEngine, "exact"),
            (smooth, "statistic_and_scale"),
            (release_reports, "reports"),
            (accuracy_notes, "interval_notes"),
        ):
            patched.setattr(owner, name, _remembered(getattr(owner, name)))
        patched.setattr(rows, "confidence_intervals", lambda *_, **__: None)
        patched.setattr(SystemNoise, "laplace", _ahead(SystemNoise.laplace, 1))
        ahead = _ahead(lambda noise, scale, size: draw(scale, size, noise), 5)
        draw = refinement.geometric

        def geometric(scale: Fraction, size: int, noise: Any) -> Any:
            """Other sources than SystemNoise draw in the order in which they are asked."""
            known = isinstance(noise, SystemNoise)
            return ahead(noise, scale, size) if known else draw(scale, size, noise)

        patched.setattr(refinement, "geometric", geometric)
        yield


def _remembered(function: Any) -> Callable[..., Any]:
    """The function, called once for each list of arguments."""
    known: dict[Any, Any] = {}

    def answer(*arguments: Any, **named: Any) -> Any:
        key = *map(_key, arguments), *sorted((name, _key(value)) for name, value in named.items())
        if key not in known:
            # The arguments are kept as well, or others could get their identity.
            known[key] = function(*arguments, **named), arguments, named
        return known[key][0]

    return answer


def _key(argument: Any) -> Any:
    """What stands for an argument: what is large and never changes stands for itself alone."""
    match argument:
        case Plan() | Query() | Policy() | PublicFacts() | MemoryEngine():
            return id(argument)
        case session.Session():
            return argument.settings
        case np.ndarray():
            return argument.dtype, argument.tobytes()
        case Vector():
            return _key(argument.values), _key(argument.null)
        case dict():
            return tuple((slot, _key(value)) for slot, value in argument.items())
    return argument


def _ahead(draw: Callable[..., Any], number: int) -> Callable[..., Any]:
    """A sampler of SystemNoise, whose draws of so many values are made ahead."""
    drawn: dict[tuple[SystemNoise, Fraction], Iterator[Any]] = {}

    def draws(noise: SystemNoise, scale: Fraction) -> Iterator[Any]:
        while True:
            yield from draw(noise, scale, AHEAD * number).reshape(AHEAD, number)

    def answer(noise: SystemNoise, scale: Fraction, size: int) -> Any:
        if size != number:
            return draw(noise, scale, size)
        key = noise, scale
        if key not in drawn:
            drawn[key] = draws(noise, scale)
        return next(drawn[key])

    return answer
