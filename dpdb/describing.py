"""What can be told about a policy, a budget and a plan: no row has a say in it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answer import CONFIDENCE, Cell, Drawn, Revealed
from dpdb.ledger import Balance
from dpdb.plan import Plan
from dpdb.policy import EPOCH, Column, Kind, Value
from dpdb.privacy.mechanisms import Laplace

if TYPE_CHECKING:
    from dpdb.engines.exact import Exact

Rows = tuple[tuple[Cell, ...], ...]
BUDGET_COLUMNS = ("budget", "total", "left")
COLUMN_COLUMNS = ("column", "type", "lower", "upper", "values", "nulls")


def budget_rows(balance: Balance, share: Fraction) -> Rows:
    """SHOW BUDGET."""
    budget = balance.budget
    return (
        ("epsilon", float(budget.epsilon), float(balance.epsilon_left)),
        ("delta", float(budget.delta), float(balance.delta_left)),
        ("queries", budget.queries, balance.queries_left),
        ("epsilon per query", float(share), None),
    )


def reports(planned: Plan) -> tuple[Drawn, ...]:
    """What is drawn for a plan, named by the columns it is drawn for."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[Drawn, ...]:
    """The same without the subqueries'."""
    drawn = []
    for index, release in enumerate(planned.releases):
        labels = [o.label for o in planned.outputs if index in planned.released_for(o)]
        mechanism = release.mechanism
        margin = None
        if isinstance(mechanism, Laplace):
            margin = mechanism.quantile(CONFIDENCE) * float(release.unit)
        drawn.append(
            Drawn(
                column=labels[0] if labels else release.aggregate,
                aggregate=release.aggregate,
                mechanism=mechanism.name,
                sensitivity=mechanism.sensitivity * release.unit,
                scale=mechanism.scale * release.unit,
                epsilon=mechanism.epsilon,
                margin=margin,
            )
        )
    return tuple(drawn)


def revealed(planned: Plan, exact: Sequence[Exact]) -> list[Revealed]:
    """For teaching mode: what the noise of each release is about to hide."""
    shown = []
    for release, report, result in zip(planned.releases, own_reports(planned), exact, strict=True):
        if isinstance(release.mechanism, Laplace):
            shown += [
                Revealed(report.column, float(int(value) * release.unit), float(report.scale))
                for value in result.cells
            ]
    return shown


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
