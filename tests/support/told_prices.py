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
from dpdb.interfaces.shell.toolbar import price_text
from dpdb.ledger.protocol import FREE, Balance, Price
from dpdb.policy.reader import read_policy
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session import custodian
from dpdb.session.session import Session

POLICY = """
[budget]
{name}
epsilon = {epsilon}
delta = {delta}
queries = 60
composition = "{composition}"
{limits}
[privacy]
neighbors = "{neighbors}"
[tables.t]
path = "t.csv"
columns.a = {{ type = "integer", bounds = [0, 9] }}
columns.g = {{ type = "text", values = ["x", "y"] }}
columns.s = {{ type = "text" }}
[tables.v]
path = "v.csv"
columns.a = {{ type = "integer", bounds = [0, 20] }}
columns.g = {{ type = "text", values = ["x", "y", "z"] }}
columns.s = {{ type = "text" }}
"""
LIMITS = "analysts.alice = {{ epsilon = {} }}\nanalysts.bob = {{ epsilon = {} }}\n"
ANALYSTS = ("alice", "bob")
AGGREGATES = ("COUNT(*)", "COUNT(*)", "COUNT(a)", "SUM(a)", "AVG(a)", "VAR_POP(a)", "MEDIAN(a)",
              "COUNT(DISTINCT a)", "COUNT_IF({test})", "SUM(a) / COUNT(*)", "MAX(a)", "MODE(g)", "MODE(g, a)",
              "COUNT(*) FILTER (WHERE {test})", "SUM(a) FILTER (WHERE {test})")  # fmt: skip
TESTS = ("a < 4", "a >= 4", "a = 2", "a > 6", "g = 'x'", "g = 'y'", "a * a > 8", "s = 'p'", "a < 99",
         "a > (SELECT AVG(a) FROM {other})", "NOT a < 4", "a BETWEEN 2 AND 5", "a > 50")  # fmt: skip
OPTIONS = ("epsilon = 0.05", "epsilon = 0.1", "epsilon = 0.2", "error = 40", "relative_error = 0.5",
           "mechanism = 'gaussian'", "epsilon = 0.2, mechanism = 'gaussian'",
           "interval = 'off'")  # fmt: skip
SETTINGS = ("epsilon = 0.1", "epsilon = 'default'", "repeats = 'fresh'", "repeats = 'free'",
            "mechanism = 'gaussian'", "mechanism = 'default'")  # fmt: skip


def rows(chance: Random) -> str:
    """A table of some rows."""
    cells = (f"{chance.randrange(10)},{chance.choice('xy')},{chance.choice('pq')}\n"
             for _ in range(40))  # fmt: skip
    return "a,g,s\n" + "".join(cells)


def select(chance: Random) -> str:
    """A SELECT about one of two tables whose columns have the same names."""
    table, other = chance.sample("tv", 2)

    def filled(text: str) -> str:
        inner = text.replace("{test}", chance.choice(TESTS))
        return inner.replace("{other}", chance.choice((table, other)))

    shown = [filled(each) for each in chance.choices(AGGREGATES, k=chance.choice((1, 1, 2)))]
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({chance.choice(OPTIONS)}) "
    where = filled(" WHERE {test}") if chance.random() < 0.6 else ""
    kind = chance.random()
    if kind < 0.08:
        return f"SELECT MAX(n) FROM (SELECT g, COUNT(*) AS n FROM {table}{where} GROUP BY g)"
    keys = " GROUP BY g" if kind < 0.2 else ""
    shown = ["g", *shown] if keys else shown
    given = options if chance.random() < 0.35 else ""
    return f"SELECT {given}{', '.join(shown)} FROM {table}{where}{keys}"


def statements(chance: Random, number: int) -> list[str]:
    """Statements, some of which are asked again."""
    texts = list[str]()
    for _ in range(number):
        kind = chance.random()
        if kind < 0.12:
            texts.append(f"SET {chance.choice(SETTINGS)}")
        elif kind < 0.3 and texts:
            texts.append(chance.choice(texts))
        else:
            texts.append(select(chance))
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
    sessions: dict[str, Session] = field(default_factory=dict)

    @classmethod
    def random(cls, chance: Random, folder: Path) -> World:
        """A random budget, of a session or a lasting one."""
        lasting = chance.random() < 0.6
        limited = lasting and chance.random() < 0.6
        path = folder / "t.toml"
        for name in "tv":
            (folder / f"{name}.csv").write_text(rows(chance))
        delta = chance.choice(("0", "1e-6"))
        path.write_text(
            POLICY.format(
                name='name = "clinic"' if lasting else "",
                epsilon=chance.choice((1, 3)),
                delta=delta,
                composition=chance.choice(("pure", "zcdp") if delta != "0" else ("pure",)),
                limits=LIMITS.format(*chance.choices((0.4, 1), k=2)) if limited else "",
                neighbors=chance.choice(("add-remove", "replace")),
            )
        )
        if lasting:
            custodian.open_budget(read_policy(path))
        return cls(path, chance, lasting, limited)

    def opened(self, analyst: str | None = None) -> Session:
        """A session that nothing was asked in yet."""
        who = (analyst or self.chance.choice(ANALYSTS)) if self.lasting else None
        return Session(read_policy(self.path), noise=SystemNoise(), analyst=who)

    def run(self) -> None:
        """Ask statements, by themselves or planned together, in one session or in several."""
        for _ in range(self.chance.choice((1, 2, 3))):
            own = self.opened()
            texts = statements(self.chance, self.chance.randrange(2, 7))
            promised = self.planned(own, texts) if self.chance.random() < 0.4 else None
            charged = FREE
            for text in texts:
                charged += self.ask(own, text, is_promised=promised is not None)
            if promised is not None and not any("relative_error" in text for text in texts):
                assert abs(charged.epsilon - promised) < 1e-9, texts
            self.check_history(own)
            if promised is None and self.lasting and not any("SET" in text for text in texts):
                self.ask_later(own, texts)

    def ask_later(self, own: Session, texts: list[str]) -> None:
        """A later session of the same analyst is answered as this one is, for nothing."""
        later = self.opened(own._ledger.asker)
        for text in texts:
            with suppress(DpdbError):  # what was refused is refused again, or affordable now
                if own.price(text) == FREE and "(SELECT" not in text:
                    now, again = own.execute(text), later.execute(text)
                    assert (again.cost, again.rows) == (FREE, now.rows), text
                    self.outcomes["asked later"] += 1

    def one_by_one(self, texts: list[str]) -> Fraction | None:
        """What statements cost that are not planned, in a session of their own."""
        if self.lasting or any("relative_error" in text for text in texts):
            return None
        own = Session(read_policy(self.path), noise=SystemNoise())
        try:
            return sum((own.execute(text).cost.epsilon for text in texts), Fraction(0))
        except DpdbError:
            return None

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
        assert own.price(text) == explained.cost
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
        self.outcomes["free"] += answer.cost == FREE
        who = getattr(own._ledger, "analyst", "")
        self.costs[who] = self.costs.get(who, Fraction(0)) + taken.epsilon
        if not own.settings.repeats_are_paid:
            again = own.execute(text)
            assert again.cost == FREE, text
            assert (again.rows, again.intervals) == (answer.rows, answer.intervals), text
            self.outcomes["repeated"] += 1
        return taken

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
