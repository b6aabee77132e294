"""Sessions that are run on a table and on its neighbour, with the same outcomes of all draws."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from unittest import mock

from dpdb import errors
from dpdb.answers.formats.json_lines import as_json
from dpdb.errors import DpdbError, InternalError
from dpdb.ledger.protocol import FREE, Balance, Price
from dpdb.policy.budget import Composition
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from dpdb.session.timing import gate
from tests.support.loss_sums import Lost, epsilon_by_rho, gaussian_delta
from tests.support.planned_once import planned_once
from tests.support.units import Database
from tests.support.witnessed_draws import Source, Witness


@dataclass(frozen=True)
class Script:
    """Statements, and the policy of the tables that they are about."""

    policy: Policy
    statements: tuple[str, ...]
    planned: bool = False
    """Whether they are planned together before the first is answered."""

    def __str__(self) -> str:
        budget = self.policy.budget
        header = f"{self.policy.neighbors} {budget} {self.policy.tables}"
        return "\n".join([header, "planned" * self.planned, *self.statements])


@dataclass(frozen=True)
class Told:
    """What a statement told, the draws that were made by then, and what the ledger then said."""

    text: str
    draws: int
    balance: Balance
    cost: Price = FREE
    asked: tuple[Fraction | None, Fraction | None] = (None, None)
    """The ε and the δ that were asked for."""


def run(script: Script, database: Database, witness: Witness) -> list[Told]:
    """What each statement tells, with the plan of all before them."""
    told = []
    failing = [mock.patch.object(each, "reportable", _reported) for each in (gate, errors)]
    with database.in_memory(), witness.watching(), failing[0], failing[1]:
        session = Session(script.policy, noise=witness.source)
        for text in [*([""] if script.planned else []), *script.statements]:
            cost = FREE
            try:
                answer = session.execute(text) if text else session.plan(script.statements)
                shown = as_json(answer)
                if answer.query and not answer.explain:
                    cost = answer.cost
            except DpdbError as error:
                shown = _refusal(error)
            made = len(witness.draws) if witness.again is None else 0
            asked = _option("epsilon", text) or session.settings.epsilon, _option("delta", text)
            told.append(Told(shown, made, session.balance, cost, asked))
    return told


def _option(name: str, text: str) -> Fraction | None:
    found = re.search(rf"OPTIONS\(.*\b{name} = ([0-9.]+)", text)
    return None if found is None else Fraction(found[1])


def _refusal(error: DpdbError) -> str:
    """What is told of a statement that is refused; nothing is to fail."""
    if isinstance(error, InternalError):
        raise error
    return f"{type(error).__name__} {error} {error.place} {error.hint}"


def _reported(error: Exception) -> DpdbError:
    """An error that is to be shown; others are mistakes, of dpdb or of the witness."""
    if isinstance(error, DpdbError):
        return error
    raise error


def check(script: Script, one: Database, other: Database, seed: int) -> tuple[list[Told], Witness]:
    """Hold what a session tells, and what it loses, against what it may."""
    witness = Witness(Source(seed), Random(seed))
    with planned_once():
        first = run(script, one, witness)
        witness.again, witness.source = iter(witness.draws), Source(seed + 1)
        second = run(script, other, witness)
    for here, there in zip(first, second, strict=True):
        assert here.text == there.text, f"{here.text}\n{there.text}\n{script}"
    assert next(witness.again, None) is None, script
    before = Balance.after(script.policy.budget)
    for told in first:
        check_spent(witness.lost(told.draws), told.balance, script)
        assert told.cost.epsilon == before.epsilon_left - told.balance.epsilon_left, script
        assert told.cost.delta == before.delta_left - told.balance.delta_left, script
        if not script.planned and "error = " not in told.text:  # which is what it takes
            check_share(told, before, script)
        before = told.balance
    return first, witness


def check_spent(lost: Lost, balance: Balance, script: object) -> None:
    """In each measure no more was lost than the ledger says was spent."""
    sums, budget = balance.sums, balance.budget
    complaint = f"{lost}\n{sums}\n{script}"
    assert lost.epsilon <= sums.epsilon, complaint
    assert lost.rho <= sums.rho, complaint
    assert lost.delta <= min(sums.delta, sums.rho_delta), complaint
    rest = gaussian_delta(lost.moves, sums.epsilon - lost.epsilon)
    assert lost.delta + rest <= sums.delta, complaint
    spent = budget.epsilon - balance.epsilon_left
    if budget.composition is Composition.PURE:
        assert spent == sums.epsilon, complaint
        assert budget.delta - balance.delta_left == sums.delta, complaint
    else:
        by_rho = epsilon_by_rho(lost.rho, budget.delta * 9 / 10)
        by_sum = by_rho if sums.own_delta else lost.epsilon
        assert min(by_rho, by_sum) <= spent, complaint
    assert balance.epsilon_left >= 0 <= balance.delta_left, complaint


def check_share(told: Told, before: Balance, script: object) -> None:
    """No statement is charged for more than it asked for, or one of so many queries has.

    By the theorem that pays it costs no more than an ε of its own. Its even part is one of the sum
    of ε or, where that theorem is another, of ρ.
    """
    budget, charged = before.budget, told.balance.sums - before.sums
    epsilon, delta = told.asked
    complaint = f"{charged}\n{told.text}\n{script}"
    if epsilon:  # the cost is rounded up
        assert told.cost.epsilon <= epsilon * (1 + Fraction(1, 2**20)), complaint
    if charged.epsilon <= _up(epsilon or budget.epsilon / budget.queries):
        by_sum = charged.delta <= (delta or budget.delta / budget.queries)
        assert by_sum or budget.composition is not Composition.PURE, complaint
        return
    assert budget.composition is not Composition.PURE, complaint
    if not epsilon:
        even = epsilon_by_rho(charged.rho * budget.queries, budget.delta * 9 / 10)
        assert even <= budget.epsilon, complaint
    assert charged.rho_delta <= (delta or budget.delta / 10 / budget.queries), complaint


def _up(number: Fraction) -> Fraction:
    """As sums are rounded up."""
    return number + Fraction(1, 2**100)
