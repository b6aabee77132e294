"""The catalogue of attacks: the classes in `attacks`."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

from dpdb.errors import UsageError, did_you_mean
from dpdb.lab import attacks
from dpdb.lab.attack import Attack


def catalogue() -> dict[str, Attack]:
    """All attacks by name, in the order of the story."""
    every = []
    for module in pkgutil.iter_modules(attacks.__path__):
        members = vars(import_module(f"{attacks.__name__}.{module.name}")).values()
        every += [
            member()
            for member in members
            if inspect.isclass(member)
            and issubclass(member, Attack)
            and not inspect.isabstract(member)
            and member.__module__.endswith(f".{module.name}")
        ]
    return {attack.name: attack for attack in sorted(every, key=lambda a: (a.place, a.name))}


def find(name: str) -> Attack:
    """The attack called `name`; underscores are as good as hyphens."""
    known = catalogue()
    wanted = name.casefold().replace("_", "-")
    if wanted not in known:
        hint = did_you_mean(wanted, known) or "`dpdb lab` lists the attacks"
        raise UsageError(f"no attack is called {name}", hint=hint)
    return known[wanted]
