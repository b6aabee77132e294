"""Queries of a session: they are planned, priced and charged, and the noise is drawn."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.errors import UsageError, paid_for
from dpdb.ledger.protocol import FREE
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Composition, Timing, valid_budget
from dpdb.policy.catalog import Policy, Table
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.sources import source
from dpdb.session.backends import Backends
from dpdb.session.free_statements import Settings, explained, utc_time
from dpdb.session.purchases import found_bounds, released_answers
from dpdb.session.purchases.kept_answers import Chosen
from dpdb.session.purchases.ledger_answers import LedgerAnswers
from dpdb.session.purchases.memory import Memory
from dpdb.session.purchases.released_answers import Shelf
from dpdb.session.timing.gate import Gate
from dpdb.session.timing.tick import Moments, NoisyMoments, Ticks
from dpdb.session.unprotected import PublicAnswers, UnprotectedAnswers

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.engines.protocol import OpenEngine, Progress
    from dpdb.ledger.protocol import Balance, Ledger
    from dpdb.plan.physical.context import RowCount
    from dpdb.session.purchases.batches import Batches, PlannedPart
    from dpdb.session.purchases.executor import Executor
    from dpdb.session.purchases.purchases import Purchase


class QueryAnswers:
    """Answers queries of one budget; `Session` is this with statements around it.

    The price is taken before any row is looked at.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        noise: Noise | None,
        progress: Progress | None,
        teach: bool,
        analyst: str | None,
        backends: Backends | None,
    ):
        valid_budget(policy.budget, policy.minimum_units)
        self._policy = policy
        self._teach = teach
        self._settings = Settings(trial=policy.is_trial)
        if teach and policy.lasting is not None and not policy.is_trial:
            raise UsageError(
                "teaching mode shows rows, and the budget of this policy is meant to last",
                hint="teach with a copy of the policy that names no budget",
            )
        # Nothing here holds the session: it and its rows are forgotten with the last name.
        self._shares = backends is not None
        self._backends = backends or Backends(policy, progress)
        self._ledger = self._backends.ledger(analyst)
        self._known = self._backends.known
        self._noise = drawn = source(policy.noise) if noise is None else noise
        # Where noise can be foretold the time of an answer tells nothing more.
        moments: Moments = Ticks()
        if policy.timing is Timing.NOISY:
            moments = NoisyMoments(policy.budget.queries, drawn)
        trial = policy.is_trial
        timed = noise is None and not teach and not trial
        self._gate = Gate(moments, timed=timed, trial=trial)
        self._loaded_engine: OpenEngine | None = None
        store = self._ledger.store if self._noise.private else None
        # A refinement costs less than a fresh draw where the sum of ε counts, and more elsewhere.
        # Analysts of a ledger who share what they know are shown no more by it than by the finest.
        refines = store is not None or policy.budget.composition is Composition.PURE
        has_series = policy.noise == "system" and refines
        kept = None if store is None else LedgerAnswers(store, policy.tables)
        self._memory = Memory(kept, has_series=has_series)
        self._batches: Batches | None = None
        self._told: set[str] = set()
        self._counted: dict[Table, int] = {}

    @property
    def policy(self) -> Policy:
        """The policy that the session was made with."""
        return self._policy

    @property
    def teach(self) -> bool:
        """Whether the session is in teaching mode, for good."""
        return self._teach

    @property
    def settings(self) -> Settings:
        """The settings, as SET has changed them."""
        return self._settings

    @property
    def balance(self) -> Balance:
        """The budget, and what is left of it."""
        return self._ledger.balance

    @property
    def _private(self) -> bool:
        """Whether answers are: nothing is revealed, and nobody can foretell the noise."""
        return self._noise.private and not self.teach

    @property
    def _engine(self) -> OpenEngine:
        """The only way to private rows."""
        self._gate.opens_on_tick()
        if self._loaded_engine is None:
            self._loaded_engine = self._backends.engine(self._gate.opens_on_tick)
        return self._loaded_engine

    def _executor(self, known: Draws) -> Executor:
        """The executor that draws the releases of a plan that is paid for."""
        from dpdb.session.purchases.executor import Executor  # noqa: PLC0415 (numpy)

        return Executor(self._engine, self._noise, self.teach, known, reading=self._gate.reading)

    def _plain(self, query: Query) -> PublicAnswers | UnprotectedAnswers | None:
        """The way to answer a query without privacy; None where its answer is private."""
        known, ledger, noise = self._known(), self._ledger, self._noise
        engine = lambda: self._engine  # noqa: E731
        if query.public:
            pinned, private = ledger.pinned, self._private
            return PublicAnswers(known, self.balance, noise, engine, pinned, private)
        if self.settings.unprotected:
            return UnprotectedAnswers(known, self.settings, ledger, noise, engine)
        return None

    def _asked(self, query: Query) -> Query:
        """The query with the session's settings for what it leaves open."""
        return query.with_options(self.settings.filled(query))

    def _rows(self, table: Table) -> int:
        """The number of rows, asked for only where it is public, and once: repeats read no row."""
        if table not in self._counted:
            self._counted[table] = self._engine.rows(table)
        return self._counted[table]

    def _plans(self, query: Query, rows: RowCount, paid: bool | None = None) -> Chosen:
        """The plans of a query, and its answer before, unless repeats are `paid` for."""
        paid = self.settings.repeats_are_paid if paid is None else paid
        memory = Memory() if paid else self._memory
        choose = lambda each: memory.choose(each, self._known(), self.balance, rows)  # noqa: E731

        def chosen(each: Query) -> Chosen:
            return released_answers.chosen(each, choose, memory.draws)

        return found_bounds.chosen(query, memory, chosen)

    def _select(self, text: str, query: Query) -> Answer:
        """An answer that is bought, in steps where it is to be as accurate as asked."""
        from dpdb.session.purchases.purchases import purchases  # noqa: PLC0415 (numpy)

        planned = self._as_planned(query)
        if planned is not None:
            ledger, repeat = self._ledger.recording(text), planned.answered
            purchase = planned.purchase(ledger, lambda: self._executor(()), self._check_reads)
            with paid_for(charged=purchase.price != FREE):
                return self._answer(text, planned.plan_of(query), purchase, repeat)
        chosen, options = self._plans(query, self._rows), query.options
        plans = chosen.plans
        if (free := self._free(text, chosen)) is not None:
            return free
        ledger = self._ledger.recording(text)
        if plans[-1].sought is not None:
            return self._with_bounds_found(text, chosen, ledger)
        known = self._memory.draws(plans[-1])
        shelf = Shelf(self._memory, chosen, alone=self.settings.repeats_are_paid)
        self._check_reads(plans[-1])
        steps = purchases(
            plans, options, ledger, lambda: self._executor(known), shelf, before=chosen.before
        )
        bought = deque(steps, maxlen=1)
        if not bought and chosen.before is not None:  # nothing is left for another step
            return self._answer(text, plans[chosen.before.step], chosen.before, repeat=True)
        (purchase,) = bought
        with paid_for():
            released_answers.keep(query, chosen, purchase, self._memory)
            is_free = purchase.price == FREE
            return self._answer(text, plans[purchase.step], purchase, is_free, chosen.notes)

    def _with_bounds_found(self, text: str, chosen: Chosen, ledger: Ledger) -> Answer:
        """An answer for which bounds are found first."""
        (plan,), known = chosen.plans, self._known()
        self._check_reads(plan)
        bought = found_bounds.purchase(plan, known, self._rows, ledger, lambda: self._executor(()))
        with paid_for():
            answer, _ = found_bounds.shown(plan, bought.result.noisy, known, self._rows)
            withheld = any(each.is_withheld for each in answer.estimates)
            found_bounds.keep(chosen, bought, withheld, self._memory)
            return self._answer(text, plan, bought, notes=chosen.notes)

    def _free(self, text: str, chosen: Chosen) -> Answer | None:
        """The answer if it was paid for, or follows from what is public or released; else None."""
        from dpdb.session.purchases.purchases import settled  # noqa: PLC0415 (numpy)

        plans = chosen.plans
        if plans[-1].settled:
            return self._answer(text, plans[-1], settled())
        if chosen.repeats is not None:
            plan = plans[chosen.repeats.step]
            return self._answer(text, plan, chosen.repeats, True, chosen.notes)
        if chosen.is_free:
            known = self._memory.draws(plans[-1])
            return self._answer(text, plans[-1], settled(known), True, chosen.notes)
        return None

    def _check_reads(self, plan: Plan) -> None:
        """Refuse a plan for which rows are looked at, before it is charged for."""
        from dpdb.session.purchases.purchases import check_memory  # noqa: PLC0415 (numpy)

        self._gate.check()
        check_memory(plan)

    def _as_planned(self, query: Query) -> PlannedPart | None:
        """The query's part of a joint plan, where it was planned with others."""
        batches = None if self.settings.repeats_are_paid else self._batches
        return None if batches is None else batches.part(query)

    def _answer(
        self,
        text: str,
        planned: Plan,
        purchase: Purchase,
        repeat: bool = False,
        notes: tuple[str, ...] = (),
    ) -> Answer:
        from dpdb.session.purchases.purchases import bought  # noqa: PLC0415 (numpy)

        if planned.sought is not None:
            noisy = purchase.result.noisy
            planned, found = found_bounds.shown(planned, noisy, self._known(), self._rows)
            notes += found
        purchase = replace(purchase, notes=(*notes, *purchase.notes))
        pinned, told = self._ledger.pinned, self._told
        day = None if pinned is None else utc_time(pinned.since).partition(" ")[0]
        return bought(
            text,
            planned,
            purchase,
            self.balance,
            told=told,
            repeat=repeat,
            private=self._private,
            reveal=self.settings.reveal,
            of_day=day,
        )

    def _explained(self, text: str, query: Query, rows: RowCount, first: str = "") -> Answer:
        planned = self._as_planned(query)
        if planned is not None:
            plan, drawn = planned.plan_of(query), planned.joint.bill.plan
            price, notes, repeat = planned.price(self._ledger), planned.notes, planned.answered
            at_once = planned.joint.result is not None
        else:
            chosen = self._plans(query, rows)
            bill = Shelf(self._memory, chosen, self.settings.repeats_are_paid).bill(query.options)
            price = FREE if bill is None else bill.price(self._ledger)
            plan, notes, repeat = chosen.explained, chosen.notes, chosen.is_free
            drawn, at_once = plan, repeat or plan.settled
        notes += () if at_once else self._gate.notes(drawn.work.seconds)
        notes = (first, *notes) if first else notes
        answer = explained(text, plan, query.options, price, self.balance, notes=notes)
        return replace(answer, repeat=repeat, private=self._private)
