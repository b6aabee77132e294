"""Random sessions in which each price is looked at: told, charged, taken off and recorded."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import footer
from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.interfaces.prompt.status import price_text
from dpdb.ledger.protocol import FREE, Balance, Price
from dpdb.policy.reading.reader import read_policy
from dpdb.session import budget_overview
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.seams import Statement, policy_of, random_statement

LIMITS = "analysts.alice = {{ epsilon = {} }}\nanalysts.bob = {{ epsilon = {} }}\n"
ANALYSTS = ("alice", "bob")
SETTINGS = ("epsilon = 0.1", "epsilon = 'default'", "repeats = 'fresh'", "repeats = 'free'",
            "mechanism = 'gaussian'", "mechanism = 'default'")  # fmt: skip


def statements(chance: Random, statement: Statement) -> list[str]:
    """A statement and some that differ from it by little, with settings; some are asked again."""
    like = [str(statement), *(str(each) for _, each in statement.changed())]
    like += [str(random_statement(chance, statement.world)), "SELECT MODE(g, x), AVG(x) FROM t"]
    texts = [like[0]]
    for _ in range(chance.randrange(1, 5)):
        setting = f"SET {chance.choice(SETTINGS)}"
        texts.append(setting if chance.random() < 0.2 else chance.choice(like))
    return texts


@dataclass
class World:
    """A policy, who asks, and what was charged so far."""

    path: Path
    chance: Random
    lasting: bool
    limited: bool
    outcomes: Counter[str] = field(default_factory=Counter)
    costs: dict[str, Fraction] = field(default_factory=dict)
    answered: dict[str, object] = field(default_factory=dict)
    """The rows of each statement, which without noise are always the same."""

    @classmethod
    def random(cls, chance: Random, folder: Path, tags: frozenset[str]) -> World:
        """A budget of a session or a lasting one, in a policy with these tags."""
        lasting = chance.random() < 0.6
        limited = lasting and chance.random() < 0.6
        policy = policy_of(
            folder,
            tags,
            name='name = "clinic"' if lasting else "",
            epsilon=chance.choice((2, 30)),
            queries=60,
            limits=LIMITS.format(*chance.choices((0.4, 8), k=2)) if limited else "",
        )
        if lasting:
            budget_overview.open_budget(policy)
        return cls(folder / "seams.toml", chance, lasting, limited)

    def opened(self, analyst: str | None = None) -> Session:
        """A session that nothing was asked in yet."""
        who = (analyst or self.chance.choice(ANALYSTS)) if self.lasting else None
        return Session(read_policy(self.path), noise=Noiseless(), analyst=who)

    def apart(self, texts: list[str]) -> None:
        """Ask each statement in a session of its own, with more ε and with less."""
        for text in texts:
            own = self.opened()
            is_set = self.chance.random() < 0.5
            if is_set:
                own.execute(f"SET epsilon = {self.chance.choice((0.05, 0.2, 1))}")
            self.ask(own, text)
            self.check_history(own)
            if self.lasting and not is_set:
                self.ask_later(own, text)

    def together(self, texts: list[str]) -> None:
        """Ask statements that are planned together."""
        own = self.opened()
        promised = self.planned(own, texts)
        charged = FREE
        for text in texts:
            charged += self.ask(own, text, is_promised=promised is not None)
        if promised is not None and not any("relative_error" in text for text in texts):
            assert abs(charged.epsilon - promised) < 1e-9, texts
        self.check_history(own)

    def ask_later(self, own: Session, text: str) -> None:
        """A later session of the same analyst is answered as this one is, for nothing."""
        later = self.opened(own._ledger.asker)
        with suppress(DpdbError):  # what was refused is refused again, or affordable now
            if own.explain(text).cost == FREE and "(SELECT" not in text:
                now, again = own.execute(text), later.execute(text)
                assert (again.cost, again.rows) == (FREE, now.rows), text
                self.outcomes["asked later"] += 1

    def one_by_one(self, texts: list[str]) -> Fraction | None:
        """What statements cost that are not planned, in a session of their own."""
        if self.lasting or any("relative_error" in text for text in texts):
            return None
        own = Session(read_policy(self.path), noise=Noiseless())
        try:
            answers = {at: own.execute(text) for at, text in enumerate(texts)}
        except DpdbError:
            return None
        for at, answer in answers.items():
            if not texts[at].startswith("SET"):
                self.compare(texts[at], answer)
        return sum((answer.cost.epsilon for answer in answers.values()), Fraction(0))

    def planned(self, own: Session, texts: list[str]) -> Fraction | None:
        """The ε that a plan says; None where it is refused, and then nothing is spent."""
        before, alone = own.balance, self.one_by_one(texts)
        try:
            shown = own.plan(texts)
        except DpdbError:
            assert own.balance == before
            return None
        self.outcomes["plans"] += 1
        apart, together = (sum(Fraction(row[at] or 0) for row in shown.rows) for at in (2, 4))
        assert own.balance == before
        if together > apart + Fraction(1, 10**9):
            assert "one by one" in shown.notes[0]
            self.outcomes["dearer"] += 1
        if alone is not None:
            assert abs(apart - alone) < 1e-9, texts
        return together

    def ask(self, own: Session, text: str, *, is_promised: bool = False) -> Price:
        """The price of a statement, which is the same wherever it is told."""
        if text.startswith("SET"):
            own.execute(text)
            return FREE
        before = own.balance
        try:
            explained = own.execute(f"EXPLAIN {text}")
        except DpdbError:
            return FREE
        assert own.explain(text).cost == explained.cost
        assert own.balance == before
        nothing = explained.cost == FREE
        assert ("would cost nothing" in footer(explained)) == nothing, text
        assert price_text(own.quote(text)).startswith(" costs nothing") == nothing, text
        try:
            answer = own.execute(text)
        except BudgetExceeded:
            assert not is_promised, text
            assert own.balance == before
            self.outcomes["refused"] += 1
            return FREE
        taken = fell(before, own.balance)
        assert answer.cost == taken, (text, answer.cost, taken)
        if "relative_error" in text:
            assert answer.cost.epsilon <= explained.cost.epsilon, text
        else:
            assert answer.cost == explained.cost, (text, answer.cost, explained.cost)
            assert promised(answer) == promised(explained), text
        self.outcomes["answers"] += 1
        self.compare(text, answer)
        self.outcomes["free"] += answer.cost == FREE
        who = getattr(own._ledger, "asker", "")
        self.costs[who] = self.costs.get(who, Fraction(0)) + taken.epsilon
        if not own.settings.repeats_are_paid:
            again = own.execute(text)
            assert again.cost == FREE, text
            assert (again.rows, again.intervals) == (answer.rows, answer.intervals), text
            self.outcomes["repeated"] += 1
        return taken

    def compare(self, text: str, answer: Answer) -> None:
        """Hold an answer against the one before: without noise they are equal.

        The smaller ε is, the more units must have a key that is found, and the farther a quantile
        is chosen.
        """
        before = self.answered.setdefault(text, answer.rows)
        if not {"s", "q"} & {*answer.columns}:
            assert answer.rows == before, text

    def check_history(self, own: Session) -> None:
        """SHOW HISTORY adds up to what the analyst was charged."""
        history = own._ledger.history()
        if history is not None:
            total = sum((each.price.epsilon for each in history), Fraction(0))
            assert total == self.costs.get(own._ledger.asker, 0)
            if self.limited:
                assert own.balance.epsilon_spent == total
            shown = own.execute("SHOW HISTORY").rows
            assert [row[2] for row in shown] == [float(each.price.epsilon) for each in history]


def fell(before: Balance, after: Balance) -> Price:
    """By how much less is left: of an own limit, or else of the whole."""
    return Price(
        after.epsilon_spent - before.epsilon_spent,
        after.delta_spent - before.delta_spent,
        before.queries_left - after.queries_left,
    )


def promised(answer: Answer) -> list[tuple[object, ...]]:
    """The noise that is told of each release."""
    return [(r.column, r.mechanism, r.scale, r.margin) for r in answer.releases]
