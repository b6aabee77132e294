"""The statements that look at no row of data: SET, SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

from dpdb.answers import accuracy_notes, contribution_notes, release_reports, suggested_bounds
from dpdb.answers.answer import Answer
from dpdb.answers.contribution_notes import key_notes
from dpdb.answers.record import Cell, Detail, columns_of
from dpdb.answers.suggested_bounds import needs_notes
from dpdb.errors import InvalidOption, Place, UnknownName, Unsupported
from dpdb.ledger.protocol import Balance, Ledger, Price, QueryLimit, Recorded
from dpdb.plan.logical.query import Options, Query
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import SMALLEST_DELTA, Budget, Composition, valid_epsilon
from dpdb.policy.catalog import Policy
from dpdb.policy.names import suggestion
from dpdb.policy.numbers import as_written, decimal
from dpdb.policy.schemas.table_files import remarks
from dpdb.privacy.accounting.accountants import Concentrated
from dpdb.privacy.accounting.composition import (
    ComposedLoss,
    Theorem,
    advanced,
    concentrated,
    sequential,
)
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.records import dataclass
from dpdb.sql.selects.statements import Assign, Describe, Listed, Show
from dpdb.sql.syntax.option_names import SENSITIVITIES, SETTINGS, TEACHING, WORDS


@dataclass(frozen=True)
class Settings:
    """The values of a session's settings."""

    epsilon: Fraction | None = None
    """The ε that a query may spend; None for an even share of the budget."""
    mechanism: NoiseKind | None = None
    """The noise on counts and sums; None for the less noisy kind that the budget allows."""
    sensitivity: str = "global"
    interval: str = "on"
    """Whether a part of a quantile's ε is for its interval."""
    bounds: str = "declared"
    """Whether bounds of SUM and AVG are those of the policy, or found for a part of ε."""
    rows_per_unit: str | None = None
    """Whether the cap on what a unit adds is declared, or found; None for what the policy says."""
    repeats_are_paid: bool = False
    """Whether a repeated query is paid for again and gets fresh noise."""
    plans_batches: bool = False
    """Whether the statements of a file are planned together before any of them is answered."""
    trial: bool = False
    """Whether statements are answered from made-up rows."""
    protected: bool = True
    """Whether answers are noisy at all; teaching mode can switch that off."""
    reveal: bool = False
    """Whether exact statistics are shown below the answers; in teaching mode only."""

    @property
    def unprotected(self) -> bool:
        """Whether noise is off or of local sensitivity; neither is differentially private."""
        return not self.protected or self.sensitivity == "local"

    def rows(self, *, teach: bool) -> tuple[tuple[str, str, str], ...]:
        """SHOW ALL: each setting, its value and its meaning; those of teaching mode only there."""
        values = {
            "epsilon": "default" if self.epsilon is None else decimal(self.epsilon),
            "mechanism": str(self.mechanism or "default"),
            "sensitivity": self.sensitivity,
            "interval": self.interval,
            "bounds": self.bounds,
            "rows_per_unit": self.rows_per_unit or "default",
            "repeats": "fresh" if self.repeats_are_paid else "free",
            "plan": "on" if self.plans_batches else "off",
            "trial": "on" if self.trial else "off",
            "dp": "on" if self.protected else "off",
            "reveal": "on" if self.reveal else "off",
        }
        known = {**SETTINGS, **TEACHING} if teach else SETTINGS
        return tuple((name, values[name], meaning) for name, meaning in known.items())

    @classmethod
    def of(cls, told: Mapping[str, object]) -> Settings:
        """The settings that SHOW ALL tells by these names; raises ValueError where it tells none.

        A share of ε is as many digits of it as are shown.
        """
        settings = cls()
        for name, value in told.items():
            if value == "default":
                continue
            known = as_written(str(value)) if name == "epsilon" else value
            if name not in SETTINGS | TEACHING or not isinstance(known, str | Fraction):
                raise ValueError("no settings")
            settings = settings.changed(Assign(name, known, Place(1, 1)), teach=True)
        return settings

    def filled(self, query: Query) -> Options:
        """The options of a query, with the settings in place of options that are not given."""
        options = query.options
        by_policy = "find" if query.table.finds_cap else "declared"
        return replace(
            options,
            epsilon=self.epsilon if options.epsilon is None else options.epsilon,
            mechanism=options.mechanism or self.mechanism,
            sensitivity=options.sensitivity or self.sensitivity,
            interval=options.interval or self.interval,
            bounds=options.bounds or self.bounds,
            rows_per_unit=options.rows_per_unit or self.rows_per_unit or by_policy,
        )

    def changed(self, assignment: Assign, *, teach: bool) -> Settings:
        """The settings after SET name = value."""
        pair = assignment.name, assignment.value
        teaching_only = assignment.name in TEACHING or pair == ("sensitivity", "local")
        if teaching_only and not teach:
            raise InvalidOption(
                f"{assignment.name} can be set in teaching mode only",
                hint="start dpdb with --teach; a session cannot enter it later",
                place=assignment.place,
            )
        match pair:
            case "epsilon", "default":
                return replace(self, epsilon=None)
            case "epsilon", Fraction() as value:
                return replace(self, epsilon=valid_epsilon(value, assignment.place))
            case "repeats", "free" | "fresh" as value:
                return replace(self, repeats_are_paid=value == "fresh")
            case "plan", "on" | "off" as value:
                return replace(self, plans_batches=value == "on")
            case "trial", "on" | "off" as value:
                return replace(self, trial=value == "on")
            case "dp", "on" | "off" as value:
                return replace(self, protected=value == "on")
            case "mechanism" | "rows_per_unit" as name, "default":
                return replace(self, **{name: None})  # type: ignore[arg-type]
            case "mechanism", str() as value if value in list(NoiseKind):
                return replace(self, mechanism=NoiseKind(value))
            case "sensitivity", str() as value if value in (*SENSITIVITIES, "local"):
                return replace(self, sensitivity=value)
            case "interval" | "bounds" | "rows_per_unit" as name, str() as value if (
                value in WORDS[name]
            ):
                return replace(self, **{name: value})  # type: ignore[arg-type]
            case "reveal", "on" | "off" as value:
                return replace(self, reveal=value == "on")
        meaning = {**SETTINGS, **TEACHING}[assignment.name]
        raise InvalidOption(f"{assignment.name}: {meaning}", place=assignment.place)


CellRows = tuple[tuple[Cell, ...], ...]
BUDGET_COLUMNS = ("budget", "total", "spent", "left")
HISTORY_COLUMNS = ("time", "statement", "epsilon", "delta")
TABLE_COLUMNS = ("table", "columns", "unit")
SETTING_COLUMNS = ("setting", "value", "meaning")


def listing(
    statement: Listed,
    policy: Policy,
    ledger: Ledger,
    settings: Settings,
    limits: tuple[QueryLimit, ...],
    *,
    teach: bool,
) -> tuple[tuple[str, ...], CellRows]:
    """The columns and the rows that a statement lists; `limits` hold besides the ledger's."""
    match statement:
        case Show.BUDGET:
            balance = ledger.balance
            share = balance.share.epsilon if settings.epsilon is None else settings.epsilon
            limits = (*ledger.query_limits, *limits)
            return BUDGET_COLUMNS, budget_rows(balance, share, limits)
        case Show.HISTORY:
            return HISTORY_COLUMNS, _history_rows(ledger.history())
        case Show.TABLES:
            return TABLE_COLUMNS, table_rows(policy)
        case Show.SETTINGS:
            return SETTING_COLUMNS, settings.rows(teach=teach)
        case Describe():
            return suggested_bounds.COLUMN_COLUMNS, _column_rows(policy, statement)


def listing_notes(statement: Listed, policy: Policy) -> tuple[str, ...]:
    """Notes on the tables that a statement describes."""
    if not isinstance(statement, Describe):
        return ()
    table = policy.table(statement.table)
    return () if table is None or table.frame is None else tuple(remarks(table))


def assigned(assign: Assign) -> tuple[tuple[str, ...], CellRows]:
    """The columns and the row that answer SET name = value."""
    value = decimal(assign.value) if isinstance(assign.value, Fraction) else assign.value
    return ("setting", "value"), ((assign.name, value),)


def shown(text: str, columns: tuple[str, ...], rows: CellRows, balance: Balance) -> Answer:
    """The answer to a statement with these rows."""
    return Answer(text, columns, columns_of(rows, len(columns)), balance)


def budget_rows(balance: Balance, share: Fraction, limits: Iterable[QueryLimit]) -> CellRows:
    """Total, spent and left of the budget, and the session's ε by each composition theorem."""
    budget, delta = balance.budget, balance.budget.delta
    rows: list[tuple[Cell, ...]] = [
        _amount("epsilon", budget.epsilon, balance.epsilon_spent, balance.epsilon_left),
        *_accounts(balance),
        _amount("delta", delta, balance.delta_spent, balance.delta_left),
        *map(_queries, limits),
        ("epsilon per query", float(share), None, None),
    ]
    if delta < SMALLEST_DELTA:
        spent = sequential(balance.sums)
        return (*rows, (f"epsilon by {Theorem.SEQUENTIAL}", None, float(spent), None))
    # Of a budget that only the sum can pay for nothing need be said.
    paying = None if budget.composition is Composition.PURE else balance.theorem()
    for theorem in Theorem:
        epsilon = _epsilon_by(theorem, budget, balance.sums)
        label = f"epsilon by {theorem}{', which counts' if theorem is paying else ''}"
        rows.append((label, None, None if epsilon is None else float(epsilon), None))
    return tuple(rows)


def _epsilon_by(theorem: Theorem, budget: Budget, sums: ComposedLoss) -> Fraction | None:
    """The ε that a theorem has for these sums; None where they leave it no δ."""
    match theorem:
        case Theorem.SEQUENTIAL:
            return sequential(sums) if sums.delta <= budget.delta else None
        case Theorem.ADVANCED:
            slack = budget.delta - sums.delta
            return min(sequential(sums), advanced(sums, slack)) if slack > 0 else None
        case Theorem.CONCENTRATED:
            keeper = Concentrated(budget)
            return concentrated(sums, keeper.slack) if sums.rho_delta <= keeper.delta else None


def _history_rows(history: tuple[Recorded, ...] | None) -> CellRows:
    """SHOW HISTORY: the asker's own statements; raises Unsupported where none are recorded."""
    if history is None:
        raise Unsupported(
            "the budget of a session keeps no history",
            hint="at the prompt .history lists statements",
        )
    return tuple(
        (utc_time(one.time), one.statement, float(one.price.epsilon), float(one.price.delta))
        for one in history
    )


_CALENDAR = 146_097 * 86_400
"""The seconds of 400 years."""


def utc_time(seconds: int) -> str:
    """The time so many seconds after 1970 began, in UTC; a clock can be in any year."""
    # The calendar is the same again after 400 years.
    cycles, within = divmod(seconds, _CALENDAR)
    moment = datetime.fromtimestamp(within, UTC)
    return f"{moment.year + 400 * cycles:04}-{moment:%m-%d %H:%M:%S}"


def table_rows(policy: Policy) -> CellRows:
    """SHOW TABLES: each table, how many columns are declared for it, and whom a row is about."""
    return tuple(
        (table.name, len(table.columns), "public" if table.public else table.unit_as_written)
        for table in policy.tables
    )


def _column_rows(policy: Policy, statement: Describe) -> CellRows:
    """DESCRIBE: what is declared about each column of a table."""
    table = policy.table(statement.table)
    if table is None:
        known = [table.name for table in policy.tables]
        hint = suggestion(statement.table, known, "tables")
        raise UnknownName(f"no table {statement.table}", hint=hint, place=statement.place)
    return tuple(suggested_bounds.column_row(table, column) for column in table.columns)


def _queries(limit: QueryLimit) -> tuple[Cell, ...]:
    left = None if limit.most is None else limit.most - limit.asked
    return limit.name, limit.most, limit.asked, left


def _amount(name: str, total: Fraction, spent: Fraction, left: Fraction) -> tuple[Cell, ...]:
    return name, float(total), float(spent), float(left)


def _accounts(balance: Balance) -> Iterator[tuple[Cell, ...]]:
    """The accounts that an analyst with a limit is shown: what is left is the lesser of two."""
    if balance.own is not None:
        left = max(balance.own.epsilon_left, Fraction(0))
        yield "epsilon of your own limit", float(balance.own.budget.epsilon), None, float(left)
        if balance.is_short_of_own:
            yield "epsilon of the whole budget", None, None, float(balance.epsilon_left)


def explained(
    text: str,
    planned: Plan,
    options: Options,
    price: Price,
    balance: Balance,
    *,
    notes: tuple[str, ...] = (),
) -> Answer:
    """The answer to EXPLAIN: draws, noise and price; `notes` come before those of the plan."""
    return Answer(
        statement=text,
        columns=tuple(output.label for output in planned.outputs),
        cells=(),
        kinds=tuple(output.expression.kind for output in planned.outputs),
        origins=release_reports.origins(planned),
        release_detail=Detail(lambda: release_reports.reports(planned)),
        cost=price,
        balance=balance,
        query=True,
        explain=True,
        note_detail=Detail(
            lambda: (
                *notes,
                *contribution_notes.work_notes(planned),
                *key_notes(planned),
                *needs_notes(planned),
                *accuracy_notes.plan_notes(options, planned),
            )
        ),
        bounding=contribution_notes.bounding_notes(planned),
        plan=planned,
    )
