"""EXPLAIN as a tree: the releases of a query, how noisy each is, and why.

All of it follows from the statement and the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from dpdb.answers.formats.explain_branches import (
    accuracies,
    formulas,
    named,
    noise_facts,
    origin_of_bounds,
    source_lines,
)
from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.json_lines import work_of
from dpdb.answers.formats.sheet import figure
from dpdb.answers.formats.summaries import margins, named_lines, summary
from dpdb.answers.record import AnswerRecord, Line, Outline, ReleaseReport
from dpdb.answers.release_reports import EXACT, LOCAL, segment_sums
from dpdb.errors import printable
from dpdb.plan.expressions.expressions import Call, Cast, ColumnRef, columns_of
from dpdb.plan.expressions.single_values import DistinctValue, UnitValue, single_value
from dpdb.plan.physical.bounds import found_part
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.statistics import Histogram, Joint, Ranks, Tally, Total
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT, decimal
from dpdb.policy.timestamps import iso_text
from dpdb.privacy.mechanisms.mechanism import Additive, GridSelection, LimitSelection
from dpdb.records import dataclass

_SHOWN_SEGMENTS = 8
"""The most segments of a histogram that are listed."""


def explain_screen(
    answer: AnswerRecord, given: Collection[str] = (), columns: int | None = None
) -> str:
    """EXPLAIN for people: first its summary, then the tree, folded into so many characters.

    The table's columns in `given` have their bounds from the command line.
    """
    if any(report.mechanism in (EXACT, LOCAL) for report in answer.releases):
        return _unprotected_tree(answer, columns)
    told = outline(answer, given)
    tree = (part for line in told.tree for part in line.folded(columns))
    return "\n".join([*named_lines(told.summary, columns), "", *tree])


def outline(answer: AnswerRecord, given: Collection[str] = ()) -> Outline:
    """All that formats tell of the plan; a price without reports of releases has no tree."""
    if answer.outline is not None:
        return answer.outline
    assert answer.plan is not None
    drawn = any(plan.releases for plan in answer.plan.every_plan)
    tree = _tree(answer, answer.plan, given) if answer.releases or not drawn else ()
    return Outline(summary(answer), tuple(tree), margins(answer), work_of(answer), answer.theorem)


def _tree(answer: AnswerRecord, whole: Plan, given: Collection[str]) -> Iterator[Line]:
    """The tree of the releases, and the notes on them."""
    groups = [tuple(group) for _, group in groupby(answer.releases, lambda report: report.group)]
    total = whole.loss.epsilon
    releases = (_Drawn(p, index) for p in whole.every_plan for index in range(len(p.releases)))
    planned = zip(releases, groups, strict=True)
    for columns_for, drawn in groupby(planned, lambda pair: pair[0].columns):
        yield _fixed(printable(", ".join(columns_for)))
        parts = list(drawn)
        for number, (each, reports) in enumerate(parts, 1):
            last = number == len(parts)
            lead, stem = ("└─ ", "   ") if last else ("├─ ", "│  ")
            yield Line(_title(each.release, reports), lead, stem)
            yield from _branches(list(_facts(each, reports, total, given)), stem)
    sources = [line for plan in whole.every_plan for line in source_lines(plan.table)]
    yield from map(_fixed, sources)
    if not (groups or sources):
        known = "the number of rows is public here"
        if whole.settled:
            known = "no row can match the filter" if whole.estimates else "keys are public"
        yield _fixed(f"nothing is drawn: {known}")
    yield from map(_fixed, accuracies(whole))
    yield from map(Line, (_share(answer, total), *map(printable, answer.notes)))


def _fixed(text: str) -> Line:
    return Line(text, folds=False)


def _unprotected_tree(answer: AnswerRecord, columns: int | None) -> str:
    """The tree of teaching mode without privacy, whose aggregates have no releases."""
    lines: list[Line] = []
    for report in answer.releases:
        exact = report.mechanism == EXACT
        how = "exact" if exact else "Laplace noise of local sensitivity, as in the paper"
        titles = printable(report.column), f"└─ {report.aggregate.replace('_', ' ')}, {how}"
        lines += map(_fixed, titles)
        if not exact:
            facts = [("Δ", "read off the rows"), ("ε", decimal(report.epsilon)), ("scale", "Δ/ε")]
            lines += _branches(facts, "   ")
    lines += map(Line, footer(answer).split("\n")[1:])
    return "\n".join(part for line in lines for part in line.folded(columns))


@dataclass(frozen=True)
class _Drawn:
    """A release of a plan."""

    plan: Plan
    index: int

    @property
    def release(self) -> Release:
        return self.plan.releases[self.index]

    @property
    def columns(self) -> tuple[str, ...]:
        """The labels of the columns that are computed from the release."""
        outputs = self.plan.outputs
        labels = (each.label for each in outputs if self.index in self.plan.released_for(each))
        return tuple(dict.fromkeys(labels)) or (self.release.aggregate,)

    @property
    def whose(self) -> str:
        """The rows that the noise of the release hides, in words."""
        table = self.plan.table
        one = f"one {printable(table.unit_in_words)}"
        return one if table.unit is None else f"the rows of {one}"


def _title(release: Release, reports: Sequence[ReleaseReport]) -> str:
    names = [report.aggregate.replace("_", " ") for report in reports]
    together = ", drawn together" if len(names) > 1 else ""
    return f"{', '.join(names)}{together} by {release.mechanism.title}"


def _branches(facts: list[tuple[str, str]], stem: str) -> Iterator[Line]:
    for number, (name, fact) in enumerate(facts, 1):
        last = number == len(facts)
        lead, hanging = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield Line(fact, f"{stem}{lead}{name:<7}", f"{stem}{hanging}{'':7}")


def _facts(
    drawn: _Drawn, reports: Sequence[ReleaseReport], total: Fraction, given: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The branches of one release: each a name and a text."""
    release, report = drawn.release, reports[0]
    mechanism = release.mechanism
    waits = drawn.plan.waits(release)
    if waits:
        assert drawn.plan.sought is not None
        arguments, capped = drawn.plan.sought.arguments, not drawn.plan.sought.widest
        yield "cap" if capped else "bounds", f"found with {found_part(arguments)} of ε"
    else:
        yield from _about(drawn, given)
        yield "Δ", _change(reports, drawn.whose, mechanism.changes)
    part = "" if report.epsilon == total else f", a part of the query's {decimal(total)}"
    if report.recalled:
        part = f", released before: {report.source}" if report.source else ", released before"
    if isinstance(mechanism, GridSelection):
        part += f": {figure(mechanism.threshold_epsilon)} for when to stop, "
        part += f"{figure(mechanism.look_epsilon)} for each look"
    if isinstance(mechanism, LimitSelection):
        part += f": {figure(mechanism.limit_epsilon)} for the limit, the rest for the noise"
    yield "ε", f"{decimal(report.epsilon)}{part}"
    if report.delta:
        yield "δ", decimal(report.delta)
    if waits:
        known = "known once the cap is" if capped else "known once the bounds are"
        yield "scale", f"{'' if capped else _scale_in_bounds(release)}{known}"
        return
    scales = list(dict.fromkeys(figure(each.scale) for each in reports if each.scale is not None))
    if scales:
        yield "scale", f"{mechanism.formula} = {', '.join(scales)}"
    yield from noise_facts(release, report.competing_rows)


def _scale_in_bounds(release: Release) -> str:
    """The scale of a vector by the width of bounds U and L, or its square; else empty."""
    vector, noise = release.statistic, release.noise
    if not (isinstance(vector, Joint) and vector.grid and isinstance(noise, Additive)):
        return ""
    power = max(len(each.coefficients) - 1 for each in vector.totals)
    times = noise.scale * noise.epsilon / (vector.grid.upper - vector.grid.lower) ** power
    shown = "" if times == 1 else f"{figure(times)}·"
    return f"{shown}(U - L){'²' * (power == 2)}/{decimal(noise.epsilon)}, "


def _about(drawn: _Drawn, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """The branches on a release's argument: its bounds, the parts of a vector, or the segments."""
    if drawn.release.strategy is not None:
        size, levels = drawn.release.strategy.size, len(drawn.release.strategy.levels)
        yield "from", f"{size} weighted sums of all statements, of {levels} kinds of groups"
    match drawn.release.statistic:
        case Ranks(argument=argument, grid=grid) if drawn.release.aggregate in ("bounds", "cap"):
            yield "within", _span((grid.lower * grid.step, grid.upper * grid.step), argument.kind)
        case Histogram() as histogram:
            yield from _segments(drawn, histogram)
        case (Total() | Ranks() as statistic) | Tally(weight=Total() as statistic):
            yield "bounds", _bounds(drawn, statistic, given) + _shift(statistic)
        case Joint(argument=argument, grid=grid) as vector if argument and grid:
            totals = {each.argument: each for each in vector.totals}
            for x, each in totals.items():
                name = f"{named(x)} " if len(totals) > 1 else ""
                yield "bounds", name + _bounds(drawn, Total(x, None, each.grid), given)
            yield "parts", formulas(vector)


def _change(reports: Sequence[ReleaseReport], whose: str, changes: str) -> str:
    """The sensitivity of a release: that of all its parts, added up."""
    sizes = dict.fromkeys(figure(r.sensitivity) for r in reports if r.sensitivity is not None)
    most = changes.format(whose)
    if not sizes:
        return most
    if len(reports) > 1:
        together = "each by itself" if len(sizes) > 1 else "added up"
        most = f"the most {whose} can change them, {together}"
    if len(sizes) > 1:
        most += ", in units of each"
    return f"{', '.join(sizes)}, {most}"


def _segments(drawn: _Drawn, histogram: Histogram) -> Iterator[tuple[str, str]]:
    """The segments of a histogram, each by the counts that it is a part of."""
    if histogram.rows:
        number, segments = len(histogram.rows), len(histogram.segments)
        yield "from", f"{number} weighted sums of {segments} segments, no row is in two"
        return
    sums = list(segment_sums(drawn.plan, drawn.index))
    of_each = [
        "+".join(printable(each.label) for each in sums if segment in each.segments)
        for segment in range(len(histogram.segments))
    ]
    shown = [*of_each[:_SHOWN_SEGMENTS], *(["…"] if len(of_each) > _SHOWN_SEGMENTS else [])]
    yield "from", f"{len(of_each)} segments, no row is in two: rows of {', '.join(shown)}"


def _bounds(drawn: _Drawn, statistic: Total | Ranks, given: Collection[str]) -> str:
    """The bounds of a statistic's argument, and where they came from."""
    grid, argument = statistic.grid, statistic.argument
    used = grid.lower * grid.step, grid.upper * grid.step
    shown = _span(used, argument.kind)
    match single_value(argument):
        case UnitValue():
            return f"{shown}, of what each {drawn.plan.table.unit_in_words} comes to in a group"
        case DistinctValue(argument=inner) if inner is not None:
            argument = inner
    match argument:
        case ColumnRef(column=column) | Cast(operand=ColumnRef(column=column)):
            declared = column.bounds
            if declared is None:
                if MAGNITUDE_LIMIT in (-grid.lower, grid.upper):
                    return f"{shown}, as none are declared"
                return f"{shown}, by WHERE"
            if any(abs(a - b) >= grid.step for a, b in zip(used, declared, strict=True)):
                return f"{shown}, by WHERE; declared {_span(declared, argument.kind)}"
            source = "by --bounds" if column.name in given else "declared in the policy"
            source = origin_of_bounds(drawn.plan.table, column.name) or source
            return f"{shown}, {source}"
        case Call(name="clamp"):
            return f"{shown}, by CLAMP"
    columns = ", ".join(printable(each.called) for each in columns_of(argument).values())
    return f"{shown}, worked out from {columns or 'constants'}"


def _shift(statistic: Total | Ranks) -> str:
    """The centre that is subtracted from each value, so that one row changes a sum by less."""
    if isinstance(statistic, Ranks) or not statistic.centre:
        return ""
    return f"; each less {figure(statistic.centre * statistic.grid.step)}"


def _span(bounds: tuple[Fraction, Fraction], kind: Kind) -> str:
    low, high = (iso_text(int(b), kind) if kind.temporal else figure(b) for b in bounds)
    return f"{low} to {high}"


def _share(answer: AnswerRecord, total: Fraction) -> str:
    """The query's share of ε, as [EGS] writes it."""
    budget = answer.balance.budget
    if total == budget.epsilon / budget.queries:
        return f"ε/k = {decimal(budget.epsilon)}/{budget.queries} = {decimal(total)}"
    return f"ε = {decimal(total)}, of {decimal(budget.epsilon)} for k = {budget.queries} queries"
