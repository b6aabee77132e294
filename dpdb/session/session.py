"""A session: it takes the text of a statement all the way to its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.answers.record import Detail
from dpdb.errors import (
    DpdbError,
    InvalidOption,
    Unsupported,
    UsageError,
    paid_for,
    printable,
    traceback_shown,
)
from dpdb.ledger.protocol import FREE, Balance
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Timing, valid_budget
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import Number, decimal
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.sources import source
from dpdb.session.backends import PublicFacts, open_engine, open_ledger, with_public_values
from dpdb.session.free_statements import (
    Settings,
    assigned,
    explained,
    listing,
    listing_notes,
    shown,
    utc_time,
)
from dpdb.session.gate import Gate
from dpdb.session.purchases import released_answers
from dpdb.session.purchases.kept_answers import Chosen
from dpdb.session.purchases.memory import Memory
from dpdb.session.purchases.released_answers import Shelf
from dpdb.session.tick import Moments, NoisyMoments, Ticks
from dpdb.session.unprotected import PublicAnswers, UnprotectedAnswers
from dpdb.sql.selects.statements import Assign, Select, Statement, statement
from dpdb.sql.syntax.options import with_share
from dpdb.sql.syntax.trees import utc_day
from dpdb.sql.text.parameters import Parameters, Values, members_of, values_of
from dpdb.trial.policy import trial_policy

if TYPE_CHECKING:
    from typing import Self

    from dpdb.answers.estimates import Draws
    from dpdb.engines.protocol import OpenEngine, Progress
    from dpdb.plan.physical.lowering import RowCount
    from dpdb.session.purchases.batches import Batches, PlannedPart
    from dpdb.session.purchases.executor import Executor
    from dpdb.session.purchases.purchases import Purchase

Loss = Number | None
"""The ε or the δ that a program asks for; None for what the session decides."""
STATEMENTS = 32
"""The number of statements that stay parsed: the prompt prices a text that it then executes."""


class Session:
    """Answers statements about the tables of a policy, within its budget.

    Everything but the noisy values is a function of the statements and the policy: the price is
    taken before any row is looked at. With `teach` the session is in teaching mode, which no
    session can enter or leave later: privacy can be switched off in it, and every answer is marked
    as not private. So is every answer whose noise can be foretold.

    Threads may share a session: it answers one statement at a time.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        noise: Noise | None = None,
        progress: Progress | None = None,
        teach: bool = False,
        analyst: str | None = None,
    ):
        """`analyst` is who asks of a lasting budget, if it is not the user of this process.

        Raises LedgerError where the ledger of a lasting budget refuses the session.
        """
        if not isinstance(teach, bool):
            raise UsageError("teach is True or False", hint="dpdb.connect(…, teach=True)")
        valid_budget(policy.budget)
        self._policy = policy
        self._teach = teach
        self._settings = Settings(trial=policy.is_trial)
        self._practice: Session | None = None
        self._ledger = ledger = open_ledger(policy, analyst, teach=teach)
        # None of these holds the session: it and its rows are forgotten with the last name.
        self._known = known = cache(lambda: with_public_values(policy, ledger.pinned))
        self._noise = drawn = source(policy.noise) if noise is None else noise
        engine = cache(lambda: open_engine(known(), witness=ledger.pinned))

        def exact(query: Query) -> Answer:
            told = PublicAnswers(known(), ledger.balance, drawn, engine, ledger.pinned)
            return told.answer("", query)

        facts = PublicFacts(ledger.pinned, exact)
        read = lru_cache(STATEMENTS)(
            lambda text, values, today: statement(text, known(), facts, values, today)
        )

        def parsed(text: str, values: Values = ()) -> Statement:
            return read(text, values, utc_day())

        self._statement = parsed
        # Where noise can be foretold the time of an answer tells nothing more.
        moments: Moments = Ticks()
        if policy.timing is Timing.NOISY:
            moments = NoisyMoments(policy.budget.queries, drawn)
        trial = policy.is_trial
        timed = noise is None and not teach and not trial
        self._gate = Gate(moments, timed=timed, trial=trial)
        self._progress = progress
        self._loaded_engine: OpenEngine | None = None
        store = self._ledger.store if self._noise.private else None
        self._memory = Memory(store, policy.tables, has_series=policy.noise == "system")
        self._batches: Batches | None = None
        self._told: set[str] = set()
        self._counted: dict[Table, int] = {}

    def __repr__(self) -> str:
        """The tables, and what is left of the budget; a trial has no budget."""
        balance, budget = self.balance, self.policy.budget
        tables = ", ".join(printable(table.name) for table in self.policy.tables)
        if self.policy.is_trial:
            return f"<Session on trial rows of {tables}>"
        epsilon = f"ε {decimal(balance.epsilon_left, 6)} of {decimal(budget.epsilon)}"
        queries = f"{balance.queries_left} of {budget.queries} queries"
        return f"<Session on {tables}: {epsilon}, {queries} left>"

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
    def on_trial(self) -> bool:
        """Whether the next statement is answered from made-up rows."""
        return self.settings.trial

    @property
    def balance(self) -> Balance:
        """The budget, and what is left of it."""
        return self._ledger.balance

    def __enter__(self) -> Self:
        """The session, which the end of the `with` closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer no more statements, and forget the rows; answers that were given stay."""
        self._gate.close()
        self._loaded_engine = None
        if self._practice is not None:
            self._practice.close()

    def execute(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        epsilon: Loss = None,
        delta: Loss = None,
    ) -> Answer:
        """Answer one statement, given without its `;`; raises DpdbError.

        `parameters` is a list with a value for each `?`, or a dict with one for each `:name`. A
        value stands for a constant, a list for the values after IN. `epsilon` and `delta` are the
        options of a SELECT.

        Where rows are looked at, answers and errors leave on a tick.
        """

        if (practice := self._practice_of(text)) is not None:
            return practice.execute(text, parameters, epsilon=epsilon, delta=delta)

        def answer(text: str) -> Answer:
            return self._execute(text, self._read(text, parameters, epsilon=epsilon, delta=delta))

        return self._gate.answer(text, traceback_shown()(answer) if self.teach else answer)

    sql = execute

    def explain(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        epsilon: Loss = None,
        delta: Loss = None,
    ) -> Answer:
        """EXPLAIN of a SELECT: what it would draw, with which noise, and its `cost`; free.

        An answer with a relative error may cost less: it is bought until it is accurate enough.
        """

        if (practice := self._practice_of(text)) is not None:
            return practice.explain(text, parameters, epsilon=epsilon, delta=delta)

        def answer(text: str) -> Answer:
            select = self._read(text, parameters, epsilon=epsilon, delta=delta)
            if not isinstance(select, Select):
                raise Unsupported("only a SELECT has a cost")
            return self._execute(text, replace(select, explain=True))

        return self._gate.answer(text, answer)

    def quote(self, text: str) -> Answer:
        """EXPLAIN of a SELECT but for its noise, told without looking at a private row.

        Under `replace` noise can depend on the number of rows, which is public, but no reason to
        load a file while somebody types: a number counted before is taken. Rows are counted only
        where the query gives its error, as its price then depends on their number.
        """
        practice = self._practice_of(text)
        return self._gate.answer(text, self._quote) if practice is None else practice.quote(text)

    def plan(self, statements: Sequence[str | tuple[object, ...]]) -> Answer:
        """Plan statements together that are to be answered next, so that they share what they draw.

        A statement with values is `(text, [30])`, and one with options `(text, [], {"epsilon":
        0.1})`. Nothing is spent yet. Raises DpdbError where one would be refused, and then plans
        nothing.
        """
        if (practice := self._practice_of("")) is not None:
            return practice.plan(statements)
        from dpdb.session.purchases.batches import PLAN_COLUMNS, Batches, asked_in  # noqa: PLC0415 (numpy)

        def planned(_: str) -> Answer:
            self._batches = self._batches or Batches(self._known(), self._ledger, self._memory)
            asked = asked_in(members, self._read, self.settings, self.balance, teach=self.teach)
            rows, notes = self._batches.plan(asked, self._rows)
            answer = shown("", PLAN_COLUMNS, rows, self.balance)
            return replace(answer, note_detail=Detail.of(notes))

        members = members_of(statements)
        return self._gate.answer("", planned)

    def trial(self) -> Session:
        """A session on rows that are made up from the policy alone, the same for everybody.

        Its statements are answered as this one's would be, free and without limit, and every
        answer is marked. Nothing of it reaches data, a ledger or this session. Raises UsageError
        where no policy declares the columns.
        """
        return Session(trial_policy(self._policy), teach=self._teach)

    def _practice_of(self, text: str) -> Session | None:
        """The session that answers while `SET trial` is on; that setting is always this one's."""
        practice = self._practice if self.settings.trial else None
        if practice is not None and isinstance(text, str) and text:
            with suppress(DpdbError):
                read = practice._statement(text, ())
                return None if isinstance(read, Assign) and read.name == "trial" else practice
        return practice

    def _assigned(self, text: str, assign: Assign) -> Answer:
        """The answer to SET, once it is done."""
        settings = self.settings.changed(assign, teach=self.teach)
        notes: tuple[str, ...] = ()
        if settings.trial and not self.policy.is_trial:
            self._practice = self._practice or self.trial()
            self._practice._settings = settings
            notes = ("until SET trial = off, answers are of made-up rows, and free",)
        elif self.policy.is_trial and not settings.trial:
            raise InvalidOption(
                "this session has made-up rows alone",
                hint="without --trial, dpdb reads the data",
                place=assign.place,
            )
        self._settings = settings
        answer = shown(text, *assigned(assign), self.balance)
        return replace(answer, note_detail=Detail.of(notes))

    def _read(
        self, text: str, parameters: Parameters, *, epsilon: Loss = None, delta: Loss = None
    ) -> Statement:
        """The statement with the values of its parameters, and with these options."""
        read = self._statement(text, values_of(parameters))
        if epsilon is delta is None:
            return read
        if not isinstance(read, Select):
            raise Unsupported("only a SELECT takes epsilon and delta")
        options = with_share(read.query.options, epsilon, delta)
        return replace(read, query=replace(read.query, options=options))

    def _quote(self, text: str) -> Answer:
        priced = self._statement(text, ())
        if not isinstance(priced, Select):
            raise Unsupported("only a SELECT has a cost")
        if (plain := self._plain(priced.query)) is not None:
            return plain.explained(text, priced.query)
        query, rows = self._asked(priced.query), self._rows
        if query.options.error is None:
            rows = lambda table: self._counted.get(table, 1)  # noqa: E731
        return replace(self._explained(text, query, rows), release_detail=Detail.of(()))

    def _execute(self, text: str, read: Statement) -> Answer:
        match read:
            case Select(query=query, explain=explain, text=text) if plain := self._plain(query):
                return plain.explained(text, query) if explain else plain.answer(text, query)
            case Select(query=query, explain=True, text=text):
                return self._explained(text, self._asked(query), self._rows)
            case Select(query=query, text=text):
                return self._select(text, self._asked(query))
            case Assign() as assign:
                return self._assigned(text, assign)
            case listed:
                known, ledger, limits = self._known(), self._ledger, self._gate.limits
                rows = listing(listed, known, ledger, self.settings, limits, teach=self.teach)
                answer = shown(text, *rows, self.balance)
                return replace(answer, note_detail=Detail.of(listing_notes(listed, known)))

    @property
    def _private(self) -> bool:
        """Whether answers are: nothing is revealed, and nobody can foretell the noise."""
        return self._noise.private and not self.teach

    @property
    def _engine(self) -> OpenEngine:
        """The only way to private rows, made when needed: numpy takes long to import."""
        self._gate.opens_on_tick()
        if self._loaded_engine is None:
            self._loaded_engine = open_engine(self._known(), self._progress, self._ledger.pinned)
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
        return replace(query, options=self.settings.filled(query.options))

    def _rows(self, table: Table) -> int:
        """The number of rows, asked for only where it is public."""
        number = self._counted[table] = self._engine.rows(table)
        return number

    def _plans(self, query: Query, rows: RowCount) -> Chosen:
        """The plans of a query, and what it was answered with before, unless that is to be paid."""
        memory = Memory() if self.settings.repeats_are_paid else self._memory
        choose = lambda each: memory.choose(each, self._known(), self.balance, rows)  # noqa: E731
        return released_answers.chosen(query, choose, memory.draws)

    def _select(self, text: str, query: Query) -> Answer:
        """An answer that is bought, in steps where it is to be as accurate as asked."""
        from dpdb.session.purchases.purchases import purchases, settled  # noqa: PLC0415 (numpy)

        planned = self._as_planned(query)
        if planned is not None:
            ledger, repeat = self._ledger.recording(text), planned.answered
            purchase = planned.purchase(ledger, lambda: self._executor(()), self._check_reads)
            with paid_for(charged=purchase.price != FREE):
                return self._answer(text, planned.plan_of(query), purchase, repeat)
        chosen, options = self._plans(query, self._rows), query.options
        plans = chosen.plans
        if plans[-1].settled:
            return self._answer(text, plans[-1], settled())
        if chosen.repeats is not None:
            return self._answer(text, plans[chosen.repeats.step], chosen.repeats, repeat=True)
        known = self._memory.draws(plans[-1])
        if chosen.is_free:
            return self._answer(text, plans[-1], settled(known), repeat=True)
        ledger = self._ledger.recording(text)
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
            return self._answer(text, plans[purchase.step], purchase)

    def _check_reads(self, plan: Plan) -> None:
        """Refuse a plan for which rows are looked at, before it is charged for."""
        from dpdb.session.purchases.purchases import check_memory  # noqa: PLC0415 (numpy)

        self._gate.check()
        check_memory(plan)

    def _as_planned(self, query: Query) -> PlannedPart | None:
        """The query's part of a joint plan, where it was planned with others."""
        batches = None if self.settings.repeats_are_paid else self._batches
        return None if batches is None else batches.part(query)

    def _answer(self, text: str, planned: Plan, purchase: Purchase, repeat: bool = False) -> Answer:
        from dpdb.session.purchases.purchases import bought  # noqa: PLC0415 (numpy)

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

    def _explained(self, text: str, query: Query, rows: RowCount) -> Answer:
        planned = self._as_planned(query)
        if planned is not None:
            plan, drawn = planned.plan_of(query), planned.joint.bill.plan
            price, notes, repeat = planned.price(self._ledger), planned.notes, planned.answered
            at_once = planned.joint.result is not None
        else:
            chosen = self._plans(query, rows)
            bill = Shelf(self._memory, chosen, self.settings.repeats_are_paid).bill(query.options)
            price = FREE if bill is None else bill.price(self._ledger)
            plan, notes, repeat = chosen.explained, (), chosen.is_free
            drawn, at_once = plan, repeat or plan.settled
        notes += () if at_once else self._gate.notes(drawn.unit_seconds)
        answer = explained(text, plan, query.options, price, self.balance, notes=notes)
        return replace(answer, repeat=repeat, private=self._private)
