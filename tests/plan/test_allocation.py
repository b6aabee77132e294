"""How a query's share is split over its aggregates, and what errors and indices make of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.errors import InvalidOption
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.lowering import AggregateLowering
from dpdb.plan.physical.release import Release
from dpdb.plan.releases.allocation import allocate, competing_rows, is_public
from dpdb.plan.releases.sharing import sharing
from dpdb.policy.budget import Composition
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.laplace import Laplace
from tests.support.plans import PRIVATE, PUBLIC, known_rows, query, small_policy

SHARE = BudgetShare(Fraction(1), Fraction(1, 10**6))
CONCENTRATED = BudgetShare(Fraction(1), Fraction(1, 10**6), concentrated=True)


def shares(
    text: str, policy: Policy = PRIVATE, share: BudgetShare = SHARE, cells: int = 1
) -> list[BudgetShare]:
    """What each aggregate may spend."""
    asked = query(text, policy)
    context = PlanningContext(policy, known_rows, asked.options)
    number = sharing(asked, context).all_shares
    return list(allocate(asked, number, cells, share, context))


def options(text: str, rest: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({text}) {rest}"


def release(text: str, share: BudgetShare, policy: Policy = PRIVATE) -> Release:
    """The release behind a query's only aggregate, at a share."""
    asked = query(text, policy)
    context = PlanningContext(policy, known_rows, asked.options)
    lowering = AggregateLowering(context, asked, asked.aggregates[0], {}, 1, share)
    [found] = lowering.lower().releases
    return found


def test_aggregates_get_equal_parts_subqueries_too() -> None:
    third = SHARE.part(Fraction(1, 3))
    assert shares("MEDIAN(age), AVG(age), VARIANCE(pay)") == [third] * 3
    assert shares("MODE(zip), 2 * SUM(age) FROM t WHERE pay > (SELECT AVG(pay) FROM t)") == (
        [third] * 3
    )
    # What is read from the same releases has one part.
    half = SHARE.part(Fraction(1, 2))
    assert shares("COUNT(*), 2 * SUM(age), AVG(age), MEDIAN(age)") == [half] * 2


def test_what_is_public_has_no_part() -> None:
    assert shares("COUNT(*), SUM(age), COUNT(*) FILTER (WHERE age > 200)", PUBLIC) == [SHARE]
    assert shares("COUNT(*)", PUBLIC) == []
    assert shares("COUNT(*) FROM t WHERE age < 0") == []


@pytest.mark.parametrize(
    ("text", "private", "replaced"),
    [
        ("COUNT(*)", False, True),
        ("COUNT(age)", False, True),
        ("COUNT(pay)", False, False),
        ("SUM(age)", False, False),
        ("SUM(age) FROM t WHERE age > 100", True, True),
        ("SUM(age) FILTER (WHERE zip = 4)", True, True),
    ],
)
def test_which_aggregates_are_public(text: str, private: bool, replaced: bool) -> None:
    for policy, expected in ((PRIVATE, private), (PUBLIC, replaced)):
        asked = query(text, policy)
        context = PlanningContext(policy, known_rows)
        assert is_public(0, asked, context) is expected


@pytest.mark.parametrize("share", [SHARE, CONCENTRATED], ids=["pure", "zcdp"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("error", [Fraction(95, 2), Fraction(3000)])
def test_the_least_epsilon_for_an_error(
    error: Fraction, mechanism: str, share: BudgetShare
) -> None:
    """To six digits: it keeps the error, and an ε less by one in the last digit does not."""
    text = options(f"error = {float(error)}, mechanism = {mechanism}", "SUM(pay)")
    [found] = shares(text, share=share)
    unit = Fraction(1)
    while found.epsilon % unit or found.epsilon / unit < 10**5:
        unit /= 10
    assert found.epsilon / unit <= 10**6
    for epsilon, enough in ((found.epsilon, True), (found.epsilon - unit, False)):
        tried = BudgetShare(epsilon, found.delta, share.concentrated)
        mechanism_then = release(text, tried).mechanism
        assert isinstance(mechanism_then, Laplace | Gaussian)
        margin = Fraction(mechanism_then.quantile(0.95)) / 100
        assert (margin <= error) is enough


def test_an_error_is_kept_with_the_confidence_asked_for_and_of_all_candidates() -> None:
    [usual] = shares(options("error = 50", "SUM(age)"))
    [surer] = shares(options("error = 50, confidence = 0.99", "SUM(age)"))
    [same] = shares(options("error = 50, confidence = 0.95", "SUM(age)"))
    grouped = "SUM(age) FROM t GROUP BY zip"
    [each] = shares(options("error = 50", grouped), cells=3)
    [every] = shares(options("error = 50", f"{grouped} HAVING COUNT(*) > 0"), cells=3)[:1]
    assert usual == same == each
    assert usual.epsilon < every.epsilon < surer.epsilon


def test_an_error_that_no_epsilon_keeps_is_refused() -> None:
    with pytest.raises(InvalidOption, match="no epsilon is large enough"):
        shares(options("error = 1e-9, mechanism = gaussian", "SUM(wealth)"))


def test_noise_follows_a_noise_index() -> None:
    """λᵢ = α·γᵢ in the analyst's units, and the shares add up."""
    text = options("noise_index = [1, 5, 20]", "COUNT(*), SUM(age), SUM(pay)")
    found = shares(text)
    scales = [change / each.epsilon for change, each in zip((1, 100, 1000), found, strict=True)]
    assert [scale / scales[0] for scale in scales] == [1, 5, 20]
    assert sum(each.epsilon for each in found) == SHARE.epsilon
    assert sum(each.delta for each in found) == SHARE.delta


def test_squares_add_up_under_a_noise_index_where_losses_are_concentrated() -> None:
    text = options("noise_index = [1, 5]", "COUNT(*), SUM(age)")
    first, second = shares(text, share=CONCENTRATED)
    assert float(100 / second.epsilon * first.epsilon) == pytest.approx(5)
    assert float(first.epsilon**2 + second.epsilon**2) == pytest.approx(1)


def test_a_relative_error_has_the_whole_share() -> None:
    assert shares(options("relative_error = 0.1", "SUM(age)")) == [SHARE]


@pytest.mark.parametrize(
    ("option", "rest", "message"),
    [
        ("error = 5", "COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t)", "with a subquery"),
        ("error = 5", "COUNT(*) + 1", "of COUNT and SUM themselves"),
        ("error = 5", "AVG(age)", "error is for COUNT and SUM"),
        ("error = 5", "MEDIAN(age)", "error is for COUNT and SUM"),
        ("noise_index = [1, 2]", "COUNT(*)", "for each noisy aggregate: 1, not 2"),
        ("noise_index = [1, 2]", "COUNT(*), MODE(city)", "noise_index is for COUNT and SUM"),
        ("noise_index = [1, 2]", "COUNT(*), SUM(0)", "that a row can change"),
        ("noise_index = [1], mechanism = gaussian", "COUNT(*)", "is for Laplace noise"),
        ("relative_error = 0.1", "COUNT(*), SUM(age)", "one COUNT or SUM"),
        ("relative_error = 0.1", "SUM(0)", "one COUNT or SUM"),
        ("relative_error = 0.1, mechanism = gaussian", "SUM(age)", "with Laplace noise"),
    ],
)
def test_what_cannot_be_kept_is_refused(option: str, rest: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        shares(options(option, rest))


def test_an_average_is_not_kept_even_where_it_is_one_release() -> None:
    """That is how far it is from the middle of its bounds: nothing to be relative to."""
    with pytest.raises(InvalidOption, match="one COUNT or SUM"):
        shares(options("relative_error = 0.1", "AVG(age)"), PUBLIC)


@pytest.mark.parametrize("composition", [Composition.ADVANCED, Composition.ZCDP])
def test_a_relative_error_needs_losses_that_add_up(composition: Composition) -> None:
    with pytest.raises(InvalidOption, match="composition = pure"):
        shares(options("relative_error = 0.1", "COUNT(*)"), small_policy(composition=composition))


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", 1),
        ("HAVING COUNT(*) > 3", 3),
        ("HAVING zip > 1", 1),
        ("HAVING COUNT(*) FILTER (WHERE age > 200) > 3", 1),
        ("HAVING (SELECT COUNT(*) FROM t) > 3", 3),
        ("HAVING (SELECT COUNT(*) FROM t WHERE age > 200) > 3", 1),
        ("ORDER BY COUNT(*)", 1),
        ("ORDER BY COUNT(*) LIMIT 3", 1),
        ("ORDER BY COUNT(*) LIMIT 2", 3),
        ("ORDER BY COUNT(*) OFFSET 1", 3),
        ("ORDER BY zip LIMIT 1", 1),
    ],
)
def test_noise_decides_among_all_groups_or_none(rest: str, expected: int) -> None:
    asked = query(f"zip, COUNT(*) FROM t GROUP BY zip {rest}")
    assert competing_rows(asked, 3, PlanningContext(PRIVATE, known_rows)) == expected
