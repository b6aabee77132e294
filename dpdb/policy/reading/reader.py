"""A policy file, read into a policy: privacy, the budget, and what tables say of each other."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.errors import InvalidOption, PolicyError
from dpdb.policy.budget import (
    KEY_SUFFIX,
    LARGEST_QUERIES,
    LONGEST_NAME,
    SUFFIX,
    Budget,
    Composition,
    LastingBudget,
    LedgerServer,
    Neighbors,
    Timing,
    is_name,
    ledger_at,
    valid_delta,
    valid_epsilon,
)
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.csv.packing import unpacked_name
from dpdb.policy.reading.policy_text import PolicyText
from dpdb.policy.reading.table_links import TableLinks
from dpdb.policy.reading.table_reader import TableReader
from dpdb.policy.schemas.table_files import undeclared_tables
from dpdb.policy.storage import is_pattern, within_file
from dpdb.records import dataclass

MOST_MINIMUM = 10_000
"""The greatest number of units that a policy asks of every group."""
PRIVACY_KEYS = (
    *("minimum_units", "neighbors", "noise", "sample_key", "timing", "unit_name", "units"),
)
"""The keys of the section on privacy."""


def policy_for(data: Path, form: CsvFormat | None = None, names: Sequence[str] = ()) -> Policy:
    """The policy beside a data file, or else that of the tables of which only the file tells.

    Without a policy a CSV file is written as `form` says; without a header, too, its columns are
    called `names`.
    """
    file, _ = within_file(data)
    beside = unpacked_name(file).with_suffix(".toml")
    if is_pattern(file) or not beside.exists():
        return Policy(undeclared_tables(data, form, names))
    policy = read_policy(beside)
    if not any(_is_of(table, file) for table in policy.tables):
        raise PolicyError(
            f"{beside} is about other files than {file}",
            hint=f'say in it path = "{file.name}", or give the policy instead of the file',
        )
    return policy


def _is_of(table: Table, data: Path) -> bool:
    """Whether a table has its rows in this file."""
    if data.exists():
        return any(path.exists() and path.samefile(data) for path in table.paths)
    return data.absolute() in (path.absolute() for path in table.paths)


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file; raises PolicyError with the line of a mistake."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # there may be no end to it
            raise PolicyError(f"{path.name} is not a regular file")
        text = path.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text, parse_float=Decimal)
    except OSError as error:
        raise PolicyError(f"cannot read {path.name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name}: {error}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise PolicyError(f"{path.name}: a number too long, or brackets too deep") from None
    return _policy(PolicyText(path, text), document)


def policy_in(sections: Mapping[str, object]) -> Policy:
    """The policy whose sections a program gives as a dict; raises PolicyError."""
    return _policy(PolicyText(Path("policy"), ""), _as_in_toml(sections))


def _as_in_toml(value: object) -> Any:  # noqa: ANN401
    """A value of a program as it is read from a file: a float is the decimal that it writes."""
    match value:
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise PolicyError("the keys of a policy are texts")
            return {key: _as_in_toml(each) for key, each in value.items()}
        case list() | tuple():
            return [_as_in_toml(each) for each in value]
        case float():
            return Decimal(float.__repr__(value))
        case Path():
            return str(value)
    return value


def _policy(text: PolicyText, document: dict[str, Any]) -> Policy:
    """The policy of a parsed file."""
    text.check_keys(document, ("budget", "privacy", "tables"), ())
    privacy = text.section(document, "privacy", ())
    text.check_keys(privacy, PRIVACY_KEYS, ("privacy",))
    for key in ("sample_key", "unit_name"):
        if not isinstance(privacy.get(key, ""), str):
            raise text.error(f"{key} is a string", ("privacy", key))
    least = privacy.get("minimum_units", 1)
    if type(least) is not int or not 1 <= least <= MOST_MINIMUM:
        raise text.error(
            f"minimum_units is a whole number from 1 to {MOST_MINIMUM:,}",
            ("privacy", "minimum_units"),
        )
    tables = text.section(document, "tables", ())
    if not tables:
        raise PolicyError(f"{text.path.name}: no [tables.NAME] section")
    kinds = _kinds(text, privacy)
    reader = TableReader(text, tables, kinds)
    declared = tuple(reader.table(name) for name in tables)
    TableLinks(text, declared).check()
    budget = BudgetReader(text, text.section(document, "budget", ()))
    neighbors = text.one_of(privacy, ("privacy", "neighbors"), list(Neighbors), "add-remove")
    return Policy(
        tables=declared,
        budget=budget.budget(),
        neighbors=Neighbors(neighbors),
        noise=text.one_of(privacy, ("privacy", "noise"), ["system", "opendp"], "system"),
        sample_key=privacy.get("sample_key", ""),
        lasting=budget.lasting(),
        timing=Timing(text.one_of(privacy, ("privacy", "timing"), list(Timing), "plain")),
        unit=privacy.get("unit_name") or (kinds[0] if len(kinds) == 1 else "unit"),
        minimum_units=least,
    )


def _kinds(text: PolicyText, privacy: dict[str, Any]) -> tuple[str, ...]:
    """The kinds of units, by their names."""
    where, kinds = ("privacy", "units"), privacy.get("units", [])
    named = isinstance(kinds, list) and all(isinstance(k, str) and k.isidentifier() for k in kinds)
    if not named or len({*kinds}) < len(kinds) or ("units" in privacy and not kinds):
        raise text.error('units is a list of names: ["customer", "supplier"]', where)
    if kinds and "unit_name" in privacy:
        raise text.error("unit_name is for units of one kind: units has their names", where)
    return tuple(kinds)


BUDGET_KEYS = (
    "epsilon", "delta", "queries", "composition", "name", "ledger", "queries_in_all", "analysts",
    "anchor", "period", "acknowledge_renewal",
)  # fmt: skip
_LASTING = ("ledger", "queries_in_all", "analysts", "anchor", "period", "acknowledge_renewal")
"""The keys that go with a name."""
_DAYS = re.compile(r"([1-9][0-9]{0,4}) days?")


@dataclass(frozen=True)
class BudgetReader:
    """Reads the section, of which the text is a part."""

    text: PolicyText
    section: dict[str, Any]

    def budget(self) -> Budget:
        """The budget, of each session or, where it has a name, of all."""
        self.text.check_keys(self.section, BUDGET_KEYS, ("budget",))
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
            self._ledger(),
            self._queries("queries_in_all", 1) if "queries_in_all" in self.section else None,
            self._analysts(),
            self._anchor(),
            self._period(),
            self.text.path.with_suffix(KEY_SUFFIX),
        )

    def _ledger(self) -> Path | LedgerServer:
        """The ledger: a file in the policy's folder, unless the policy says where."""
        given = self.section.get("ledger", self.text.path.with_suffix(SUFFIX).name)
        try:
            return ledger_at(given if isinstance(given, str) else "", self.text.path.parent)
        except InvalidOption as error:
            raise self.text.error(error.message, ("budget", "ledger")) from None

    def _anchor(self) -> Path | None:
        """The anchor, in the policy's folder unless the policy says where."""
        given = self.section.get("anchor", None)
        if given is None:
            return None
        if not isinstance(given, str) or not given or "\0" in given:
            raise self.text.error("anchor is the name of a file", ("budget", "anchor"))
        return self.text.path.parent / given

    def _period(self) -> int | None:
        """After how many days the budget is renewed; None where it is not."""
        acknowledged = self.section.get("acknowledge_renewal")
        if acknowledged not in (None, True, False):
            where = ("budget", "acknowledge_renewal")
            raise self.text.error("acknowledge_renewal is true or false", where)
        if "period" not in self.section:
            return None
        period, where = self.section["period"], ("budget", "period")
        days = _DAYS.fullmatch(period) if isinstance(period, str) else None
        if days is None:
            raise self.text.error('a period is a number of days: "30 days"', where)
        if not acknowledged:
            raise self.text.error(
                "the ε of all periods adds up without end; "
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
