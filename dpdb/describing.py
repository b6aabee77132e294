"""What can be told about a policy, a budget and a plan: no row has a say in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.answer import Cell, Drawn
from dpdb.ledger import Balance
from dpdb.plan import Plan
from dpdb.policy import EPOCH, SMALLEST_DELTA, Column, Kind, Table, Value, decimal
from dpdb.privacy.accounting import Accountant, Advanced, Concentrated, Sequential
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.smooth import Smooth
from dpdb.releases import CONFIDENCE, Distinct, Ranks, Release, Total, at_once
from dpdb.sql.query import ColumnRef, Expr, Options, children, slots

Rows = tuple[tuple[Cell, ...], ...]
BUDGET_COLUMNS = ("budget", "total", "spent", "left")
COLUMN_COLUMNS = ("column", "type", "lower", "upper", "values", "nulls")


THEOREMS: tuple[tuple[str, type[Accountant]], ...] = (
    ("sequential composition", Sequential),
    ("advanced composition", Advanced),
    ("zero-concentrated DP", Concentrated),
)


def budget_rows(balance: Balance, share: Fraction) -> Rows:
    """SHOW BUDGET: what there was and is, and what each theorem says of the session so far."""
    budget, delta = balance.budget, balance.budget.delta
    queries = budget.queries
    rows: list[tuple[Cell, ...]] = [
        _amount("epsilon", budget.epsilon, balance.epsilon_left),
        _amount("delta", delta, balance.delta_left),
        ("queries", queries, queries - balance.queries_left, balance.queries_left),
        ("epsilon per query", float(share), None, None),
    ]
    for name, theorem in THEOREMS:
        keeper = theorem(budget)
        if delta >= SMALLEST_DELTA or theorem is Sequential:
            # Of a session that takes more δ than the theorem leaves, it says nothing.
            silent = keeper.delta_spent(balance.sums) > keeper.delta
            spent = None if silent else float(keeper.epsilon(balance.sums))
            rows.append((f"epsilon by {name}", None, spent, None))
    return tuple(rows)


def _amount(name: str, total: Fraction, left: Fraction) -> tuple[Cell, ...]:
    return name, float(total), float(total - left), float(left)


def reports(planned: Plan) -> tuple[Drawn, ...]:
    """What is drawn for a plan, named by the columns it is drawn for."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[Drawn, ...]:
    """The same without the subqueries'."""
    drawn = []
    for index, release in enumerate(planned.releases):
        labels = [o.label for o in planned.outputs if index in planned.released_for(o)]
        label = labels[0] if labels else release.aggregate
        drawn.append(_report(release, label, planned.candidates))
    return tuple(drawn)


def _report(release: Release, label: str, candidates: int) -> Drawn:
    """One release; numbers are in the analyst's units, but a score's, which has none."""
    mechanism = release.mechanism
    loss = mechanism.loss
    report = Drawn(
        column=label,
        aggregate=release.aggregate,
        mechanism=mechanism.name,
        sensitivity=None,
        scale=None,
        epsilon=loss.epsilon,
        delta=loss.delta,
        candidates=candidates,
    )
    match mechanism:
        case Laplace() | Gaussian():
            return replace(
                report,
                sensitivity=mechanism.sensitivity * release.unit,
                scale=mechanism.scale * release.unit,
                margin=mechanism.quantile(at_once(CONFIDENCE, candidates)) * float(release.unit),
            )
        case Exponential():
            return replace(report, sensitivity=mechanism.sensitivity, scale=mechanism.scale)
    return report


def claims(planned: Plan) -> tuple[str, ...]:
    """What the intervals hold for, and what has none."""
    notes = [
        f"{drawn.column} {_way(drawn)}, and has no interval: how near it is depends on the rows"
        for drawn in _shown(planned)
        if drawn.margin is None
    ]
    if planned.candidates > 1 and any(drawn.margin is not None for drawn in _shown(planned)):
        number = planned.candidates
        notes.append(f"± holds for all {number} groups at once, as noise decides which are shown")
    return tuple(dict.fromkeys(notes))


def _way(drawn: Drawn) -> str:
    """How a value comes about whose distance from the exact one is not known."""
    if drawn.mechanism == Smooth.name:
        return "has noise of a size that is secret"
    return "is chosen by rank" if drawn.aggregate == "quantile" else "is chosen by frequency"


def _shown(planned: Plan) -> Iterator[Drawn]:
    """The releases that the columns of the answer are made of."""
    drawn = own_reports(planned)
    for output in planned.outputs:
        yield from (drawn[index] for index in sorted(planned.released_for(output)))
        for index in sorted(slots(output.expression, "subquery")):
            yield from _shown(planned.subplans[index])


def only_noise(columns: Sequence[str], flags: Sequence[Sequence[bool]]) -> tuple[str, ...]:
    """Which columns hold values whose intervals say nothing, from the intervals alone."""
    notes = []
    for name, said in zip(columns, zip(*flags, strict=True), strict=False):
        if any(said):
            part = f" in {sum(said)} of {len(said)} rows" if len(said) > 1 else ""
            notes.append(f"{name} is only noise{part}: ± is as wide as its bounds allow")
    return tuple(notes)


def kept(options: Options, planned: Plan) -> tuple[str, ...]:
    """What was spent for an error that was asked for."""
    if options.error is None:
        return ()
    return (
        f"ε {decimal(planned.loss.epsilon)} is the least that keeps the noise within "
        f"±{decimal(options.error)}, {_sure(options)}",
    )


def promised(options: Options, planned: Plan) -> tuple[str, ...]:
    """For EXPLAIN: what will be spent for an error that is asked for."""
    if options.relative_error is None:
        return kept(options, planned)
    return (f"at most: ε is spent in steps, until the noise is within {_part(options)}",)


def altered(planned: Plan) -> tuple[str, ...]:
    """For EXPLAIN: which rows are left out before noise is drawn, and which values are changed."""
    plans = list(_with_subplans(planned))
    caps = [_cap(each.table) for each in plans if each.table.unit is not None]
    clamps = [
        _clamp(column)
        for each in plans
        for release in each.releases
        if isinstance(release.statistic, Total | Ranks | Distinct)
        for column in _bounded(release.statistic.argument)
    ]
    return tuple(dict.fromkeys([*caps, *clamps]))


def _with_subplans(planned: Plan) -> Iterator[Plan]:
    for subplan in planned.subplans:
        yield from _with_subplans(subplan)
    yield planned


def _cap(table: Table) -> str:
    rows = "1 row" if table.rows_per_unit == 1 else f"{table.rows_per_unit} rows"
    return f"at most {rows} per {table.unit}, chosen by a keyed hash"


def _bounded(expression: Expr) -> Iterator[Column]:
    """The columns that an expression reads and that have bounds."""
    match expression:
        case ColumnRef(column=Column(values=None, bounds=(_, _)) as column):
            yield column
    for child in children(expression):
        yield from _bounded(child)


def _clamp(column: Column) -> str:
    assert column.bounds is not None
    low, high = (_plain(bound, column.kind) for bound in column.bounds)
    return f"{column.name}: values are clamped to {low} … {high}"


def bought(options: Options, planned: Plan, *, reached: bool) -> tuple[str, ...]:
    """What came of a relative error that was asked for, and what is promised of its price."""
    spent = decimal(planned.loss.epsilon)
    found = f"at ε {spent} the noise is within {_part(options)}"
    missed = f"ε {spent} was not enough for noise within {_part(options)}"
    return (
        found if reached else missed,
        "ex-post privacy: how much was paid follows from the noisy answers, and from nothing else",
    )


def _part(options: Options) -> str:
    assert options.relative_error is not None
    return f"{100 * float(options.relative_error):.4g} % of the answer, {_sure(options)}"


def _sure(options: Options) -> str:
    return f"{100 * float(options.confidence or CONFIDENCE):.10g} % sure"


def column_row(column: Column) -> tuple[Cell, ...]:
    """A column's row of DESCRIBE."""
    kind = "text or number (guessed)" if column.guessed else str(column.kind)
    values = None
    if column.values is not None:
        listed = [str(_plain(value, column.kind)) for value in column.values[:6]]
        more = len(column.values) - len(listed)
        values = ", ".join(listed) + (f", … {more} more" if more else "")
    bounds = (None, None) if column.bounds is None or column.values is not None else column.bounds
    lower, upper = (None if b is None else _plain(b, column.kind) for b in bounds)
    return column.name, kind, lower, upper, values, column.nullable


def _plain(value: Value, kind: Kind) -> Cell:
    """A declared value as it is shown."""
    if kind is Kind.DATE and isinstance(value, (int, Fraction)):
        return type(EPOCH).fromordinal(EPOCH.toordinal() + int(value)).isoformat()
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value
