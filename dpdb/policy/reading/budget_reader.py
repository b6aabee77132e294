"""The `[budget]` section of a policy file."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.policy.budget import (
    LARGEST_QUERIES,
    LONGEST_NAME,
    SUFFIX,
    Budget,
    Composition,
    LastingBudget,
    is_name,
    valid_delta,
    valid_epsilon,
)
from dpdb.policy.reading.policy_text import PolicyText
from dpdb.records import dataclass

KEYS = (
    "epsilon", "delta", "queries", "composition", "name", "ledger", "queries_in_all", "analysts",
    "anchor", "window", "acknowledge_renewal",
)  # fmt: skip
_LASTING = ("ledger", "queries_in_all", "analysts", "anchor", "window", "acknowledge_renewal")
"""The keys that go with a name."""
_DAYS = re.compile(r"([1-9][0-9]{0,4}) days?")


@dataclass(frozen=True)
class BudgetReader:
    """Reads the section, of which the text is a part."""

    text: PolicyText
    section: dict[str, Any]

    def budget(self) -> Budget:
        """The budget, of each session or, where it has a name, of all."""
        self.text.check_keys(self.section, KEYS, ("budget",))
        default = Budget()
        where = ("budget", "composition")
        return Budget(
            self._checked("epsilon", default.epsilon, valid_epsilon),
            self._checked("delta", default.delta, valid_delta),
            self._queries("queries", default.queries),
            Composition(self.text.one_of(self.section, where, list(Composition), "pure")),
        )

    def lasting(self) -> LastingBudget | None:
        """The lasting budget; None where the section names none."""
        if "name" not in self.section:
            for key in _LASTING:
                if key in self.section:
                    raise self.text.error(f"{key} goes with a name", ("budget", key))
            return None
        name = self.section["name"]
        self._check_name(name, ("budget", "name"))
        return LastingBudget(
            name,
            self._file("ledger", self.text.path.with_suffix(SUFFIX).name),
            self._queries("queries_in_all", 1) if "queries_in_all" in self.section else None,
            self._analysts(),
            self._file("anchor", "") if "anchor" in self.section else None,
            self._window(),
        )

    def _file(self, key: str, default: str) -> Path:
        """The file at `key`, in the policy's folder unless the policy says where."""
        given = self.section.get(key, default)
        if not isinstance(given, str) or not given or "\0" in given:
            raise self.text.error(f"{key} is the name of a file", ("budget", key))
        return self.text.path.parent / given

    def _window(self) -> int | None:
        """After how many days the budget is renewed; None where it is not."""
        acknowledged = self.section.get("acknowledge_renewal")
        if acknowledged not in (None, True, False):
            where = ("budget", "acknowledge_renewal")
            raise self.text.error("acknowledge_renewal is true or false", where)
        if "window" not in self.section:
            return None
        window, where = self.section["window"], ("budget", "window")
        days = _DAYS.fullmatch(window) if isinstance(window, str) else None
        if days is None:
            raise self.text.error('a window is a number of days: "30 days"', where)
        if not acknowledged:
            raise self.text.error(
                "what all windows spend adds up without end; "
                "acknowledge_renewal = true says that this is meant",
                where,
            )
        return int(days[1])

    def _analysts(self) -> tuple[tuple[str, Fraction], ...] | None:
        """For each analyst the most ε; None where the section names none."""
        if "analysts" not in self.section:
            return None
        analysts = self.text.section(self.section, "analysts", ("budget",))
        limits = []
        for name in analysts:
            where = ("budget", "analysts", name)
            self._check_name(name, where)
            own = self.text.section(analysts, name, ("budget", "analysts"))
            self.text.check_keys(own, ("epsilon",), where)
            if "epsilon" not in own:
                raise self.text.error("an analyst has epsilon", where)
            limit = self.text.fraction(own["epsilon"], (*where, "epsilon"))
            limits.append((name, self.text.accepted(limit, valid_epsilon, (*where, "epsilon"))))
        return tuple(limits)

    def _check_name(self, name: object, where: tuple[str, ...]) -> None:
        if not is_name(name):
            raise self.text.error(f"a name has 1 to {LONGEST_NAME} visible characters", where)

    def _checked(
        self, key: str, default: Fraction, valid: Callable[[Fraction], Fraction]
    ) -> Fraction:
        """The number at `key`, as `valid` accepts it."""
        where = ("budget", key)
        number = self.text.fraction(self.section.get(key, default), where)
        return self.text.accepted(number, valid, where)

    def _queries(self, key: str, default: int) -> int:
        queries = self.section.get(key, default)
        if type(queries) is not int or not 1 <= queries <= LARGEST_QUERIES:
            raise self.text.error(f"{key} is a whole number, at least 1", ("budget", key))
        return queries
