"""A session: it takes the text of a statement all the way to its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.answers.formats.summaries import budget_summary
from dpdb.answers.record import Detail
from dpdb.errors import (
    DpdbError,
    InvalidOption,
    Unsupported,
    UsageError,
    printable,
    traceback_shown,
)
from dpdb.ledger.protocol import Recorded
from dpdb.plan.logical.query import NO_OPTIONS, Query
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import Number, decimal
from dpdb.privacy.noise.protocols import Noise
from dpdb.session.backends import Backends, PublicFacts
from dpdb.session.free_statements import assigned, listing, listing_notes, shown
from dpdb.session.query_answers import QueryAnswers
from dpdb.session.unprotected import PublicAnswers
from dpdb.sql.selects.statements import Assign, Select, Show, Statement, statement
from dpdb.sql.syntax.options import with_share
from dpdb.sql.syntax.trees import utc_day
from dpdb.sql.text.parameters import Parameters, Values, members_of, values_of

if TYPE_CHECKING:
    from typing import Self

    from dpdb.engines.protocol import Progress
    from dpdb.ledger.protocol import Balance

Loss = Number | None
"""The ε or the δ that a program asks for; None for what the session decides."""
DAY_SECONDS = 86_400
MOST_GIVEN = 1_000
"""The most answers that a session lists."""
STATEMENTS = 32
"""The number of statements that stay parsed: the prompt prices a text that it then executes."""


class Session(QueryAnswers):
    """Answers statements about the tables of a policy, within its budget.

    Everything but the noisy values is a function of the statements and the policy: the price is
    taken before any row is looked at. With `teach` the session is in teaching mode, which no
    session can enter or leave later: privacy can be switched off in it, and every answer is marked
    as not private. So is every answer whose noise can be foretold.

    Threads may share a session: it answers one statement at a time.
    """

    is_remote = False
    """Whether a server answers."""

    def __init__(
        self,
        policy: Policy,
        *,
        noise: Noise | None = None,
        progress: Progress | None = None,
        teach: bool = False,
        analyst: str | None = None,
        backends: Backends | None = None,
    ):
        """`analyst` is who asks of a lasting budget, if it is not the user of this process.

        Several sessions can share the `backends` of their policy.

        Raises LedgerError where the ledger of a lasting budget refuses the session.
        """
        if not isinstance(teach, bool):
            raise UsageError("teach is True or False", hint="dpdb.connect(…, teach=True)")
        super().__init__(
            policy, noise=noise, progress=progress, teach=teach, analyst=analyst, backends=backends
        )
        self._practice: Session | None = None
        self._given: deque[Answer] = deque(maxlen=MOST_GIVEN)
        # None of these holds the session.
        known, ledger, drawn = self._known, self._ledger, self._noise
        engine = self._backends.public_engine

        def exact(query: Query) -> Answer:
            told = PublicAnswers(known(), ledger.balance, drawn, engine, ledger.pinned)
            return told.answer("", query)

        self._facts = facts = PublicFacts(ledger.pinned, exact)
        self._temporary = temporary = dict[str, Query]()
        self._read_once = read = lru_cache(STATEMENTS)(
            lambda text, values, today: statement(
                text, known(), facts, values, today=today, temporary=temporary
            )
        )

        def parsed(text: str, values: Values = ()) -> Statement:
            return read(text, values, utc_day())

        self._statement = parsed

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
    def last_balance(self) -> Balance:
        """The balance, for which nobody is waited for."""
        return self.balance

    @property
    def on_trial(self) -> bool:
        """Whether the next statement is answered from made-up rows."""
        return self.settings.trial

    def __enter__(self) -> Self:
        """The session, which the end of the `with` closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer no more statements, and forget the rows; answers that were given stay."""
        self._gate.close()
        self._loaded_engine = None
        if not self._shares:
            self._backends.close()
        if self._practice is not None:
            self._practice.close()

    def execute(
        self, text: str, parameters: Parameters = None, *, epsilon: Loss = None, delta: Loss = None
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

        given = self._gate.answer(text, traceback_shown()(answer) if self.teach else answer)
        if given.query and not (given.explain or given.repeat):
            self._given.append(given)
        return given

    sql = execute

    def explain(
        self, text: str, parameters: Parameters = None, *, epsilon: Loss = None, delta: Loss = None
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
            return self._answered(text, replace(select, explain=True))

        return self._gate.answer(text, answer)

    def answers(self) -> tuple[Answer, ...]:
        """The answers that the session was given, the last at the end, each with its cost; free.

        With a lasting budget they are those that this analyst has paid for, in this session and
        before. An answer that the ledger has not kept has no rows.
        """
        history = self._ledger.history()
        return tuple(self._given) if history is None else tuple(map(self._given_before, history))

    def _given_before(self, recorded: Recorded) -> Answer:
        """The answer that a charge has paid for, once more; without rows if it is not kept."""

        def again(text: str) -> Answer:
            # As it was read then: on its day, and without tables that a session defines.
            day = recorded.time // DAY_SECONDS
            select = statement(text, self._known(), self._facts, today=day)
            if not isinstance(select, Select) or recorded.is_cut:
                raise Unsupported("the statement is not known as it was")
            options = select.query.options
            prices = dict.fromkeys((options.epsilon, recorded.price.epsilon or None))
            for epsilon, bounds in product(prices, dict.fromkeys((options.bounds, "find"))):
                asked = replace(options, epsilon=epsilon, bounds=bounds)
                query = replace(select.query, options=asked)
                with suppress(DpdbError):  # it may have had other settings
                    if free := self._free(text, self._plans(query, self._rows, paid=False)):
                        return free
            raise Unsupported("the answer is not kept")

        try:
            answer = self._gate.answer(recorded.statement, again)
        except DpdbError:
            answer = Answer(recorded.statement, (), (), self.balance, query=True)
        return replace(answer, cost=recorded.price, repeat=False)

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
        from dpdb.session.purchases.batches import PLAN_COLUMNS, Batches  # noqa: PLC0415 (numpy)
        from dpdb.session.purchases.query_plans import asked_in  # noqa: PLC0415

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
        from dpdb.trial.policy import trial_policy  # noqa: PLC0415 (few practise)

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
        answer = self._answered(text, read)
        if isinstance(read, Select) and read.name:
            query = replace(read.query, options=NO_OPTIONS)
            self._temporary[read.name.casefold()] = query
            self._facts.tell(query, answer)
            self._read_once.cache_clear()
        return answer

    def _answered(self, text: str, read: Statement) -> Answer:
        match read:
            case Select(query=query, explain=explain, text=text) if plain := self._plain(query):
                return plain.explained(text, query) if explain else plain.answer(text, query)
            case Select(query=query, explain=True, text=text, note=note):
                return self._explained(text, self._asked(query), self._rows, note)
            case Select(query=query, text=text):
                return self._select(text, self._asked(query))
            case Assign() as assign:
                return self._assigned(text, assign)
            case listed:
                known, ledger, limits = self._known(), self._ledger, self._gate.limits
                rows = listing(listed, known, ledger, self.settings, limits, teach=self.teach)
                answer = shown(text, *rows, self.balance)
                if listed is Show.BUDGET:
                    limits = (*ledger.query_limits, *limits)
                    summary = budget_summary(known, self.balance, self.settings.epsilon, limits)
                    answer = replace(answer, summary=summary)
                return replace(answer, note_detail=Detail.of(listing_notes(listed, known)))
