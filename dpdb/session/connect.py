"""From files and arguments to a session: the one way, for programs and for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from dpdb.errors import InvalidOption, UsageError, did_you_mean
from dpdb.policy.budget import (
    Budget,
    Composition,
    LastingBudget,
    LedgerServer,
    Neighbors,
    Timing,
    ledger_at,
    valid_budget,
    valid_delta,
    valid_epsilon,
    valid_queries,
)
from dpdb.policy.catalog import MOST_ROWS_HELD, Kind, Policy
from dpdb.policy.csv.csv_format import CsvFormat, valid_encoding, valid_separator
from dpdb.policy.numbers import Number, as_written
from dpdb.policy.reading.column_reader import with_bounds
from dpdb.policy.reading.unit_reader import keeps_values
from dpdb.policy.schemas.table_files import check_file
from dpdb.session.table_sources import DataSource, PolicySource, TableSources, united

if TYPE_CHECKING:
    from dpdb.session.remote.remote_session import RemoteSession
    from dpdb.session.session import Session

    AnySession = Session | RemoteSession
    """A session of this process, or of a server."""

Choice = TypeVar("Choice", bound=StrEnum)


def connect(
    *sources: DataSource,
    name: str | None = None,
    policy: PolicySource | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    queries: int | None = None,
    composition: str | None = None,
    neighbors: str | None = None,
    timing: str | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    no_header: Sequence[str] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    trial: bool = False,
    teach: bool = False,
    seed: int | None = None,
    token: str | None = None,
) -> AnySession:
    """A session on data files, data frames or policies, or one of a server.

    A source is a path or a pattern, a list of paths whose rows are one table, the address of a
    server's table, a frame (pandas, polars, Arrow, DuckDB), a policy, or a dict of these by the
    names of tables. `name` is that of the only table. `policy` says what is public about the
    sources: a path, a dict of its sections, or a `dpdb.Policy`; a frame is never written. Without
    one, `unit` is the column that says whom a row is about, and `rows_per_unit` the most rows of
    one unit that count.

    What is not given is as the policy says, or else its default. Numbers are taken as they are
    written: 0.1 is a tenth. With `teach` privacy can be switched off, and only then can `seed` make
    the noise repeat; no answer of such a session is private.

    `separator`, `encoding` and `no_header`, which names the columns of a file without a header, are
    for CSV files without a policy; a policy says these itself.

    `ledger` is the file of a budget that lasts, or its address in PostgreSQL, in place of what the
    policy says; `analyst` is who asks of it, where the owner of the ledger asks for somebody else.

    With `trial` the rows are made up from the policies, as in `Session.trial`, and no data are
    read.

    The only source can be the address of a server that answers: `https://stats.example.org`, with
    the `token` of an analyst. All but `trial` is then for the server to say.

    Raises UsageError, InvalidOption, PolicyError, DataFileError, LedgerError or ServerError, each
    before a row is read.
    """
    if any(map(is_address, sources)):
        given = {**locals(), "teach": teach or None, "trial": None}
        others = sorted(each for each in given.keys() - {"sources", "token"} if given[each])
        if others or len(sources) > 1:
            raise UsageError(
                f"a server has its own {', '.join(others) or 'sources'}",
                hint='dpdb.connect("https://…", token=…)',
            )
        remote = session_at(str(sources[0]), token)
        return remote.trial() if trial else remote
    if token is not None:
        raise UsageError("a token is for a server", hint='dpdb.connect("https://…", token=…)')
    held = policy_of(
        *sources,
        name=name,
        policy=policy,
        unit=unit,
        rows_per_unit=rows_per_unit,
        epsilon=epsilon,
        delta=delta,
        queries=queries,
        composition=composition,
        neighbors=neighbors,
        timing=timing,
        bounds=bounds,
        separator=separator,
        encoding=encoding,
        no_header=no_header,
        ledger=ledger,
        trial=trial,
    )
    return session_on(held, teach=teach, seed=seed, analyst=analyst)


def is_address(source: object) -> bool:
    """Whether a source is the address of a server that answers, rather than of a file."""
    if not isinstance(source, str) or not source.lower().startswith(("https://", "http://")):
        return False
    return not PurePosixPath(source.partition("//")[2].partition("/")[2]).suffix


def session_at(address: str, token: str | None) -> RemoteSession:
    """The session of an analyst on a server; what it is made of is imported here."""
    from dpdb.session.remote.remote_session import RemoteSession  # noqa: PLC0415

    return RemoteSession(address, token)


def policy_of(
    *sources: DataSource,
    name: str | None = None,
    policy: PolicySource | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    queries: int | None = None,
    composition: str | None = None,
    neighbors: str | None = None,
    timing: str | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    no_header: Sequence[str] | None = None,
    ledger: str | Path | None = None,
    trial: bool = False,
) -> Policy:
    """The policies of all sources as one, with the arguments on top, and a file to every table."""
    form = _form(separator, encoding, no_header)
    tables = TableSources(form, no_header or (), _valid_name(name, sources))
    if policy is None:
        joined = united([tables.policy(source) for source in sources])
    else:
        joined = tables.with_rows(policy, sources)
    if unit is not None or rows_per_unit is not None:
        joined = _with_unit(joined, unit, 1 if rows_per_unit is None else rows_per_unit)
    if form is not None and not any(table.csv == form for table in joined.tables):
        raise UsageError(
            "separator, encoding and no_header are for CSV files without a policy",
            hint='a policy says them itself, as in separator = ";"',
        )
    budget = joined.budget
    budget = Budget(
        budget.epsilon if epsilon is None else valid_epsilon(_exact("epsilon", epsilon)),
        budget.delta if delta is None else valid_delta(_exact("delta", delta)),
        budget.queries if queries is None else valid_queries(queries),
        budget.composition
        if composition is None
        else _one_of("composition", Composition, composition),
    )
    relation = joined.neighbors if neighbors is None else _one_of("neighbors", Neighbors, neighbors)
    moments = joined.timing if timing is None else _one_of("timing", Timing, timing)
    budget = valid_budget(budget, joined.minimum_units)
    joined = replace(joined, budget=budget, neighbors=relation, timing=moments)
    if ledger is not None:
        joined = replace(joined, lasting=_lasting(joined, str(ledger)))
    joined = with_bounds(joined, _exact_bounds(bounds or {}))
    if not trial:
        return _check_files(joined)
    from dpdb.trial.policy import trial_policy  # noqa: PLC0415 (few practise)

    return trial_policy(joined)


def session_on(
    policy: Policy,
    *,
    teach: bool = False,
    seed: int | None = None,
    analyst: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Session:
    """A session on the policy's tables; with a `seed` its noise can be predicted.

    What it is made of is imported here: sqlglot takes longer than a prompt to appear.
    """
    from dpdb.privacy.noise.sources import seeded  # noqa: PLC0415
    from dpdb.session.session import Session  # noqa: PLC0415

    given = valid_seed(seed, teach=teach)
    noise = None if given is None else seeded(given)
    if analyst is not None and policy.lasting is None:
        raise UsageError(
            "who asks matters only where a budget lasts", hint='[budget] name = "…" in the policy'
        )
    return Session(policy, noise=noise, progress=progress, teach=teach, analyst=analyst)


def valid_seed(seed: int | None, *, teach: bool) -> int | None:
    """`seed`, if it is one that the session can have: only teaching mode has any."""
    if seed is None:
        return None
    if type(seed) is not int or not 0 <= seed < 10**20:
        raise InvalidOption("seed is a whole number, at least 0 and of at most 20 digits")
    if not teach:
        raise UsageError(
            "a seed makes noise predictable",
            hint="it goes with teaching mode only: --teach, or teach=True",
        )
    return seed


def _valid_name(name: str | None, sources: Sequence[object]) -> str | None:
    """`name` if it can be that of the only source."""
    if name is not None and (not isinstance(name, str) or not name or len(sources) != 1):
        raise UsageError("name is a text, for one source", hint='connect({"people": …, "zips": …})')
    return name


def _with_unit(policy: Policy, unit: str | None, rows: int) -> Policy:
    """The policy, whose only table has this unit; raises InvalidOption where it can have none."""
    [table, *others] = policy.tables
    column = table.column(unit) if isinstance(unit, str) else None
    if others or column is None or table.unit is not None:
        names = [each.name for each in table.columns]
        hint = did_you_mean(str(unit), names) or "a policy declares the units of several tables"
        raise InvalidOption("unit is a column of the only table, which has none yet", hint=hint)
    if column.kind not in (Kind.TEXT, Kind.INTEGER) or not keeps_values(column):
        raise InvalidOption("a unit is text or an integer, without bounds")
    if type(rows) is not int or not 1 <= rows <= MOST_ROWS_HELD:
        raise InvalidOption(f"rows_per_unit is a whole number from 1 to {MOST_ROWS_HELD:,}")
    return replace(policy, tables=(replace(table, unit=column.name, rows_per_unit=rows),))


def _form(
    separator: str | None, encoding: str | None, no_header: Sequence[str] | None
) -> CsvFormat | None:
    """The format of files without a policy; None where no argument says anything of it."""
    if separator is encoding is no_header is None:
        return None
    if no_header is not None and not _are_names(no_header):
        raise InvalidOption("no_header is a list of names that differ in more than case")
    return CsvFormat(
        separator=None if separator is None else valid_separator(separator),
        encoding=None if encoding is None else valid_encoding(encoding),
        header=no_header is None,
    )


def _are_names(names: object) -> bool:
    """Whether these can be the names of all columns of a file."""
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) and n for n in names):
        return False
    return 0 < len(names) == len({name.casefold() for name in names})


def _lasting(policy: Policy, given: str) -> LastingBudget:
    """The lasting budget in this ledger; where the policy names none, it is named after the file.

    The ledger knows the name of its budget, and refuses another.
    """
    try:
        ledger = ledger_at(given)
    except InvalidOption as error:
        raise UsageError(error.message) from None
    if isinstance(ledger, Path) and not ledger.name:
        raise UsageError(f"{ledger} is not the name of a file")
    if policy.lasting is not None:
        return replace(policy.lasting, ledger=ledger)
    if isinstance(ledger, LedgerServer):
        raise UsageError(
            "a ledger on a server is of a budget that a policy names",
            hint='[budget] name = "…" in the policy',
        )
    return LastingBudget(ledger.stem, ledger)


def _check_files(policy: Policy) -> Policy:
    """The policy, once it is sure that there is a file to every table, with its columns."""
    for table in policy.tables:
        check_file(table)
    return policy


def _exact(name: str, value: Number) -> Fraction:
    exact = as_written(value)
    if exact is None:
        raise InvalidOption(f"{name} is a number")
    return exact


def _exact_bounds(
    bounds: Mapping[str, tuple[Number, Number]],
) -> dict[str, tuple[Fraction, Fraction]]:
    exact = {}
    for name, pair in bounds.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidOption(f"the bounds of {name} are a pair (low, high)")
        low, high = (_exact(f"a bound of {name}", bound) for bound in pair)
        if low > high:
            raise InvalidOption(f"the bounds of {name} are (low, high), low first")
        exact[name] = low, high
    return exact


def _one_of(name: str, known: type[Choice], value: str) -> Choice:
    if value not in list(known):
        hint = did_you_mean(str(value), known) or f"it is one of {', '.join(known)}"
        raise InvalidOption(f"there is no {name} {value}", hint=hint)
    return known(value)
