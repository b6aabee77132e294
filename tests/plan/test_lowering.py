"""One aggregate into its releases: statistics, grids, sensitivities, and where the answer lies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.errors import MissingBounds, TooLarge, Unsupported
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.lowering import SQUARES_LIMIT, AggregateLowering, Lowered, contribution_of
from dpdb.plan.ranges.intervals import Interval
from dpdb.plan.ranges.statistics import Count, Distinct, Ranks, Tally, Total
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from tests.support.plans import COLUMNS, PRIVATE, PUBLIC, ROWS, known_rows, query, small_policy

ONE = BudgetShare(Fraction(1))


def lowered(
    text: str, policy: Policy = PRIVATE, cells: int = 1, share: BudgetShare = ONE
) -> Lowered:
    """The only aggregate of a query, lowered at ε = 1."""
    asked = query(text, policy)
    [aggregate] = asked.aggregates
    context = PlanningContext(policy, known_rows, asked.options)
    return AggregateLowering(context, asked, aggregate, {}, cells, share).lower()


def parts(contribution: Lowered) -> list[tuple[str, Fraction]]:
    """The releases' names and their part of ε."""
    return [(release.aggregate, release.mechanism.epsilon) for release in contribution.releases]


def test_a_count_is_of_rows_unless_what_is_counted_can_be_null() -> None:
    for text, argument in (("COUNT(*)", None), ("COUNT(age)", None), ("COUNT(pay)", "pay")):
        [release] = lowered(text).releases
        statistic = release.statistic
        assert isinstance(statistic, Count)
        assert (statistic.argument and statistic.argument.column.name) == argument


def test_a_public_count_is_not_released() -> None:
    assert lowered("COUNT(*)", PUBLIC)[:3] == ([], Interval(), ROWS)
    for text in ("COUNT(pay)", "COUNT(*) FROM t WHERE age > 3", "COUNT(*) FROM t GROUP BY zip"):
        assert len(lowered(text, PUBLIC).releases) == 1


def test_a_sum_is_in_steps_of_its_columns_grid() -> None:
    [release] = lowered("SUM(pay)").releases
    assert isinstance(release.statistic, Total)
    assert (release.unit, release.statistic.centre) == (Fraction(1, 100), 0)
    assert (release.mechanism.sensitivity, release.mechanism.scale) == (100_000, 100_000)


def test_an_average_is_the_distances_from_both_bounds() -> None:
    """A row adds 100 to both together, whatever its age is."""
    contribution = lowered("AVG(age)")
    assert parts(contribution) == [("avg", Fraction(1))]
    [release] = contribution.releases
    assert [part.name for part in release.parts] == ["sum_above_lower", "sum_below_upper"]
    assert [part.statistic.bounds for part in release.parts] == [(0, 100), (0, 100)]
    assert (release.mechanism.sensitivity, release.mechanism.scale) == (100, 100)
    assert contribution[1:3] == (Interval(Fraction(0), Fraction(100)), None)


def test_where_a_row_can_be_replaced_an_average_is_a_sum_and_a_weighted_count() -> None:
    """Scales 2h/ε and 2/ε for h = 50, in one cell; between cells a row moves the pair by 2·100."""
    [release] = lowered("AVG(age) FROM t WHERE ok", PUBLIC).releases
    assert [(part.name, part.weight) for part in release.parts] == [("sum", 1), ("count", 50)]
    assert [release.mechanism.scale * part.unit for part in release.parts] == [100, 2]
    [release] = lowered("AVG(age) FROM t GROUP BY zip", PUBLIC, 3).releases
    assert [part.name for part in release.parts] == ["sum_above_lower", "sum_below_upper"]
    assert release.mechanism.scale == 200


def test_where_squares_of_epsilon_add_up_each_moment_is_a_release() -> None:
    for share in (BudgetShare(Fraction(1), concentrated=True),):
        average = lowered("AVG(age)", share=share)
        assert [(r.aggregate, r.mechanism.sensitivity) for r in average.releases] == [
            ("sum", 50),
            ("count", 1),
        ]
        assert sum(r.mechanism.loss.rho for r in average.releases) <= Fraction(1, 2)
        names = [release.aggregate for release in lowered("VAR_POP(age)", share=share).releases]
        assert names == ["sum_of_squares", "sum", "count"]


def test_of_an_argument_with_one_value_only_the_count_is_released() -> None:
    for text in ("AVG(age) FROM t WHERE age = 7", "VARIANCE(age) FROM t WHERE age = 7"):
        assert parts(lowered(text)) == [("count", Fraction(1))]


def test_an_average_over_a_public_count_is_one_release_in_its_own_unit() -> None:
    contribution = lowered("AVG(age)", PUBLIC)
    [release] = contribution.releases
    assert parts(contribution) == [("avg", Fraction(1))]
    assert release.mechanism.sensitivity * release.unit == Fraction(100, ROWS)
    assert contribution.public_rows == ROWS


@pytest.mark.parametrize(
    ("function", "widest"),
    [("VAR_POP", 2500), ("VAR_SAMP", 5000), ("STDDEV_POP", 50), ("STDDEV_SAMP", 75)],
)
def test_a_variance_is_of_three_polynomials(function: str, widest: int) -> None:
    """|P| + |M| + |R| is 8·50·|y| + 5·(2500 - y²), which is 20,500 at |y| = 40."""
    contribution = lowered(f"{function}(age)")
    assert parts(contribution) == [("variance", Fraction(1))]
    [release] = contribution.releases
    names = ["squares_above", "squares_below", "squares_between"]
    assert [part.name for part in release.parts] == names
    polynomials = [part.statistic.coefficients for part in release.parts]
    assert polynomials == [(0, 200, 4), (0, -200, 4), (12_500, 0, -5)]
    assert release.mechanism.sensitivity == 20_500
    assert contribution.range == Interval(Fraction(0), Fraction(widest))
    public = lowered(f"{function}(age)", PUBLIC)
    assert parts(public) == [("variance", Fraction(1))]
    [release] = public.releases
    weights = [(part.name, part.weight) for part in release.parts]
    assert weights == [("sum_of_squares", 7), ("sum", 200)]
    assert release.mechanism.sensitivity == 28_928  # (7 + 4 + 16/28)·50², in whole years
    assert public[1:3] == (contribution.range, ROWS)


def test_variances_are_in_the_columns_unit() -> None:
    """Pay is up to 1000 in steps of a cent."""
    for function, widest in (("VAR_POP", 500**2), ("STDDEV_POP", 500), ("STDDEV_SAMP", 750)):
        assert lowered(f"{function}(pay)").range.upper == widest


def test_an_average_over_no_rows_is_in_the_unit_of_one() -> None:
    asked = query("AVG(age)", PUBLIC)
    context = PlanningContext(PUBLIC, lambda table: 0)
    found = AggregateLowering(context, asked, asked.aggregates[0], {}, 1, ONE).lower()
    assert (found.releases[0].unit, found.public_rows) == (1, 0)


def test_the_greatest_variances_are_those_of_the_ends_of_the_bounds() -> None:
    """Half of the rows on each; of a sample, two rows."""
    assert (100**2 + 0**2) / 2 - 50**2 == 2500
    assert 2 * 50**2 / (2 - 1) == 5000
    assert 75**2 > 5000 > 50**2


def test_values_are_squared_on_a_coarse_grid() -> None:
    """Wealth has 2·10^11 cents: in steps of 10,000 its squares fit 64 bits with their weights."""
    [release] = lowered("VAR_POP(wealth)").releases
    grid = release.statistic.grid
    assert (grid.step, grid.lower, grid.upper) == (10_000, -(10**5), 10**5)
    assert grid.upper <= SQUARES_LIMIT
    [total] = lowered("SUM(wealth)").releases
    assert total.unit == Fraction(1, 100)


@pytest.mark.parametrize(
    ("text", "fraction"), [("MIN(pay)", 0), ("MEDIAN(pay)", Fraction(1, 2)), ("MAX(pay)", 1)]
)
def test_order_statistics_are_ranks(text: str, fraction: Fraction) -> None:
    contribution = lowered(text)
    [release] = contribution.releases
    assert isinstance(release.statistic, Ranks)
    assert (release.aggregate, release.statistic.fraction) == ("quantile", fraction)
    assert release.mechanism.sensitivity == max(fraction, 1 - fraction)
    assert contribution.range == Interval(Fraction(0), Fraction(1000))


def test_a_mode_is_of_declared_values() -> None:
    [release] = lowered("MODE(city)").releases
    assert isinstance(release.statistic, Tally)
    assert release.statistic.values == ("Ely", "Rye")
    with pytest.raises(Unsupported, match="MODE takes a column"):
        lowered("MODE(age + 1)")


def test_a_weight_is_clamped_as_a_sum_of_it_is() -> None:
    [release] = lowered("MODE(city, age) FILTER (WHERE age > 50)").releases
    [summed] = lowered("SUM(age) FILTER (WHERE age > 50)").releases
    assert isinstance(release.statistic, Tally)
    assert release.statistic.weight == summed.statistic
    assert release.aggregate == "weighted_mode"
    assert release.mechanism.sensitivity * release.unit == 100
    [release] = lowered("MODE(city, CLAMP(pay - 9, -2.5, 1))").releases
    assert release.mechanism.sensitivity * release.unit == Fraction(5, 2)
    with pytest.raises(MissingBounds, match="this expression"):
        lowered("MODE(city, CAST(note AS NUMBER))")


def test_distinct_units_change_by_one_and_other_values_by_the_rows_of_a_unit() -> None:
    policy = small_policy(unit="id", rows_per_unit=3)
    for column, change in (("id", 1), ("note", 3)):
        [release] = lowered(f"COUNT(DISTINCT {column})", policy).releases
        assert isinstance(release.statistic, Distinct)
        assert release.mechanism.sensitivity == change


def test_filters_narrow_the_bounds() -> None:
    for text in (
        "SUM(age) FROM t WHERE age <= 30",
        "SUM(age) FILTER (WHERE age <= 30)",
        "SUM(age) FILTER (WHERE age <= 30) FROM t WHERE age <= 40",
    ):
        [release] = lowered(text).releases
        assert release.mechanism.sensitivity == 30


def test_filters_that_exclude_each_other_leave_the_declared_bounds() -> None:
    [release] = lowered("SUM(age) FROM t WHERE age < 20 AND age > 30").releases
    assert release.mechanism.sensitivity == 100


def test_a_value_without_bounds_is_refused_with_a_way_out() -> None:
    with pytest.raises(MissingBounds, match="loose has no bounds") as caught:
        lowered("SUM(loose + age)")
    assert "--bounds loose=LOW:HIGH" in str(caught.value.hint)
    with pytest.raises(MissingBounds, match="this expression has no bounds") as caught:
        lowered("SUM(age / pay)")
    assert "CLAMP(x, low, high)" in str(caught.value.hint)


def test_values_that_squares_of_doubles_cannot_hold_are_refused() -> None:
    huge = replace(COLUMNS[0], lower=Fraction(0), upper=Fraction(10**100))
    tables = (replace(PRIVATE.tables[0], columns=(huge,)),)
    lowered("MAX(id)", replace(PRIVATE, tables=tables))
    larger = replace(huge, upper=Fraction(10**100 + 1))
    with pytest.raises(TooLarge, match="too large to be aggregated"):
        lowered("MAX(id)", replace(PRIVATE, tables=(replace(tables[0], columns=(larger,)),)))


@pytest.mark.parametrize(
    ("text", "optional"),
    [
        ("SUM(age)", False),
        ("SUM(pay)", True),  # NULL
        ("SUM(age) FILTER (WHERE ok)", True),
        ("SUM(age) FROM t WHERE ok", True),
        ("SUM(age) FROM t GROUP BY zip", True),
    ],
)
def test_a_row_can_be_left_out_by_a_null_a_filter_or_a_key(text: str, optional: bool) -> None:
    asked = query(text)
    contribution = contribution_of(asked.aggregates[0], asked, PUBLIC, 3)
    assert (contribution.optional, contribution.group_count, contribution.rows_per_unit) == (
        optional,
        3,
        1,
    )


def test_a_row_of_several_can_always_be_left_out() -> None:
    policy = small_policy(unit="id", rows_per_unit=2)
    asked = query("SUM(age)", policy)
    assert contribution_of(asked.aggregates[0], asked, policy).optional
