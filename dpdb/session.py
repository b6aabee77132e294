"""A session: the one module that walks the whole way from text to answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb import describing
from dpdb.answer import Answer, Cell
from dpdb.errors import (
    BudgetExceeded,
    DpdbError,
    InternalError,
    InvalidOption,
    Place,
    UnknownName,
    did_you_mean,
)
from dpdb.ledger import FREE, Balance, MemoryLedger, Price
from dpdb.plan import Plan, outline, plan
from dpdb.policy import Composition, Policy, Table, decimal, valid_epsilon
from dpdb.privacy.accounting import Share
from dpdb.privacy.loss import pure
from dpdb.privacy.mechanisms import Laplace
from dpdb.privacy.noise import Noise, source
from dpdb.releases import CONFIDENCE
from dpdb.sql.query import NO_OPTIONS, Options, Query
from dpdb.sql.settings import MECHANISMS, SENSITIVITIES, SETTINGS, TEACHING
from dpdb.sql.statements import (
    Assign,
    Describe,
    Select,
    ShowBudget,
    ShowTables,
    statement,
)

if TYPE_CHECKING:
    from dpdb.drawing import RowCount
    from dpdb.engines.frame import FrameEngine, Progress
    from dpdb.releasing import Released, Releaser


@dataclass(frozen=True, repr=False)
class _Answered:
    """What a query has been answered with, and what for."""

    released: Released
    price: Price
    step: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """What SET has set."""

    epsilon: Fraction | None = None
    mechanism: str = "laplace"
    sensitivity: str = "global"
    fresh: bool = False
    protected: bool = True
    reveal: bool = False

    @property
    def lawless(self) -> bool:
        """Whether answers are without privacy, or with that of the paper, which is none."""
        return not self.protected or self.sensitivity == "local"


class Session:
    """Answers statements about the tables of a policy, within its budget.

    Everything but the noisy values is a function of the statements and the
    policy: the price is taken before any row is looked at. With `teach` the
    session may be told to forget its manners, and marks every answer as not
    private; no session can enter or leave that mode later.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        noise: Noise | None = None,
        progress: Progress | None = None,
        teach: bool = False,
    ):
        self.policy = policy
        self.teach = teach
        self.settings = Settings()
        self._ledger = MemoryLedger(policy.budget, policy.neighbors)
        self._noise = source(policy.noise) if noise is None else noise
        self._progress = progress
        self._loaded_engine: FrameEngine | None = None
        self._released: dict[object, _Answered] = {}

    @property
    def balance(self) -> Balance:
        """The budget, and what is left of it."""
        return self._ledger.balance

    def execute(self, text: str) -> Answer:
        """Answer one statement, given without its `;`; raises DpdbError."""
        try:
            return self._execute(text)
        except DpdbError as error:
            # What is wrong with the statement as a whole is shown at its beginning.
            error.place = error.place or Place(1, 1)
            raise
        except Exception:
            # Its text could hold a cell: neither message nor traceback goes further.
            raise InternalError(
                "dpdb failed to answer this statement", hint="what it cost stays paid"
            ) from None

    def price(self, text: str) -> Answer:
        """What a SELECT would cost, told without looking into a file.

        Under `replace` noise can hang on the number of rows. That is public, but no
        reason to load a file while somebody types: the noise is left out.
        """
        found = statement(f"EXPLAIN {text}", self.policy)
        assert isinstance(found, Select)
        planned = self._plan(self._asked(found.query), lambda _: 1)
        return replace(self._explained(text, planned), releases=())

    def _execute(self, text: str) -> Answer:
        found = statement(text, self.policy)
        match found:
            case Select(query=query, explain=True):
                return self._explained(text, self._plan(self._asked(query), self._rows))
            case Select(query=query) if self.settings.lawless:
                return self._unprotected(text, query)
            case Select(query=query) if query.options.relative_error is not None:
                return self._select_gradually(text, self._asked(query))
            case Select(query=query):
                return self._select(text, self._asked(query))
            case ShowBudget():
                rows = describing.budget_rows(self.balance, self._share(NO_OPTIONS).epsilon)
                return self._shown(text, describing.BUDGET_COLUMNS, rows)
            case ShowTables():
                tables = tuple((table.name, len(table.columns)) for table in self.policy.tables)
                return self._shown(text, ("table", "columns"), tables)
            case Describe():
                return self._describe(text, found)
            case Assign():
                return self._assign(text, found)

    @property
    def _engine(self) -> FrameEngine:
        """Made when first needed: pandas takes longer to import than the prompt to appear."""
        if self._loaded_engine is None:
            from dpdb.engines.frame import FrameEngine  # noqa: PLC0415

            self._loaded_engine = FrameEngine(self._progress)
        return self._loaded_engine

    @property
    def _releaser(self) -> Releaser:
        from dpdb.releasing import Releaser  # noqa: PLC0415 (numpy)

        return Releaser(self._engine, self._noise, self.teach)

    def _asked(self, query: Query) -> Query:
        """The query with the session's settings for what it leaves open."""
        options, settings = query.options, self.settings
        filled = replace(
            options,
            epsilon=settings.epsilon if options.epsilon is None else options.epsilon,
            mechanism=options.mechanism or settings.mechanism,
            sensitivity=options.sensitivity or settings.sensitivity,
        )
        return replace(query, options=filled)

    def _share(self, options: Options) -> Share:
        """What a query may spend: what it asks for, or an even share."""
        share = self.balance.share
        if options.epsilon is not None:
            share = replace(share, epsilon=options.epsilon)
        return share if options.delta is None else replace(share, delta=options.delta)

    def _rows(self, table: Table) -> int:
        """The number of rows, asked for only where it is public."""
        return self._engine.rows(table)

    def _plan(self, query: Query, rows: RowCount) -> Plan:
        return plan(query, self.policy, self._share(query.options), rows)

    def _select(self, text: str, query: Query) -> Answer:
        planned = self._plan(query, self._rows)
        before = None if self.settings.fresh else self._released.get(planned.identity)
        if before is not None:
            return self._answer(text, planned, before, repeat=True)
        # Debit before data, and no refunds: what happens from here on is paid for.
        price = self._ledger.charge(planned.loss, planned.region)
        notes = describing.kept(query.options, planned)
        answered = _Answered(self._releaser.release(planned), price, notes=notes)
        self._released[planned.identity] = answered
        return self._answer(text, planned, answered)

    def _select_gradually(self, text: str, query: Query) -> Answer:
        """An answer as accurate as asked, bought step by step while it is not.

        Gradual release of Laplace noise (Koufogiannis, Han, Pappas 2015): what has been
        paid in the end is the price of the last answer alone. How much that is depends on
        the noisy answers, an ex-post guarantee (Ligett, Neel, Roth, Waggoner, Wu 2017,
        Definition 2.5), and on nothing else.
        """
        from dpdb.privacy.gradual import SLACK, levels  # noqa: PLC0415

        if self.policy.budget.composition is not Composition.PURE:
            raise InvalidOption(
                "relative_error needs a budget of composition = pure",
                hint="what is charged in the end depends on the answers, and only sums allow that",
            )
        options = query.options
        plans = tuple(
            self._plan(replace(query, options=replace(options, epsilon=epsilon)), self._rows)
            for epsilon in levels(self._share(options).epsilon)
        )
        identity = (plans[-1].identity, options)
        before = None if self.settings.fresh else self._released.get(identity)
        if before is not None:
            return self._answer(text, plans[before.step], before, repeat=True)
        price, paid = FREE, Fraction(0)
        answered = None
        releases = None
        for step, planned in enumerate(plans):
            due = planned.loss.epsilon + SLACK - paid
            try:
                taken = self._ledger.charge(pure(due), planned.region, int(answered is None))
            except BudgetExceeded:
                if answered is None:
                    raise
                break
            price, paid = price + taken, paid + due
            releases = releases or self._releaser.release_gradually(plans)
            released = releases(step)
            reached = _within(planned, released, options)
            note = describing.bought(options, planned, reached=reached)
            answered = _Answered(released, price, step, note)
            self._released[identity] = answered
            if reached:
                break
        assert answered is not None
        return self._answer(text, plans[answered.step], answered)

    def _answer(
        self, text: str, planned: Plan, answered: _Answered, *, repeat: bool = False
    ) -> Answer:
        from dpdb.answering import page  # noqa: PLC0415 (numpy)
        from dpdb.estimates import points  # noqa: PLC0415

        released = answered.released
        noisy = released.noisy
        shown = page(planned, points(planned, noisy.draws), noisy.subqueries, noisy)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=shown.rows,
            intervals=shown.intervals,
            releases=describing.reports(planned),
            cost=FREE if repeat else answered.price,
            balance=self.balance,
            query=True,
            repeat=repeat,
            private=not self.teach,
            revealed=released.revealed if self.settings.reveal else (),
            notes=answered.notes,
        )

    def _explained(self, text: str, planned: Plan) -> Answer:
        released = planned.identity in self._released and not self.settings.fresh
        if not self.settings.protected or (released and not self.settings.lawless):
            price = FREE
        else:
            price = self._ledger.price(planned.loss, planned.region)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=(),
            releases=describing.reports(planned),
            cost=price,
            balance=self.balance,
            query=True,
            explain=True,
            private=not self.teach,
            plan=planned,
        )

    def _shown(
        self, text: str, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]
    ) -> Answer:
        return Answer(text, columns, rows, self.balance)

    def _unprotected(self, text: str, query: Query) -> Answer:
        """Teaching mode without privacy, or with the paper's, which is none."""
        from dpdb.answering import page  # noqa: PLC0415 (numpy)
        from dpdb.teaching import Lesson  # noqa: PLC0415

        planned = outline(query, self.policy)
        price, share = FREE, None
        if self.settings.protected:
            whole = self._share(self._asked(query).options).epsilon
            share = whole / planned.aggregates
            price = self._ledger.charge(pure(whole), None)
        taught = Lesson(self._engine, self._noise, share).teach(planned)
        shown = page(planned, taught.points, taught.subqueries, None)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=shown.rows,
            intervals=shown.intervals,
            cost=price,
            balance=self.balance,
            query=True,
            private=False,
            revealed=taught.revealed if self.settings.reveal and share is not None else (),
        )

    def _describe(self, text: str, found: Describe) -> Answer:
        table = self.policy.table(found.table)
        if table is None:
            known = [table.name for table in self.policy.tables]
            hint = did_you_mean(found.table, known) or f"tables are {', '.join(known)}"
            raise UnknownName(f"no table {found.table}", hint=hint, place=found.place)
        rows = tuple(describing.column_row(column) for column in table.columns)
        return self._shown(text, describing.COLUMN_COLUMNS, rows)

    def _assign(self, text: str, found: Assign) -> Answer:
        taught = found.name in TEACHING or (found.name, found.value) == ("sensitivity", "local")
        if taught and not self.teach:
            raise InvalidOption(
                f"{found.name} can be set in teaching mode only",
                hint="start dpdb with --teach; a session cannot enter it later",
                place=found.place,
            )
        self.settings = _changed(self.settings, found)
        setting = decimal(found.value) if isinstance(found.value, Fraction) else found.value
        return self._shown(text, ("setting", "value"), ((found.name, setting),))


def _within(planned: Plan, released: Released, options: Options) -> bool:
    """Whether the noise on every cell is within the relative error asked for."""
    from dpdb.privacy.gradual import enough  # noqa: PLC0415

    (release,), (draws,) = planned.releases, released.noisy.draws
    assert isinstance(release.mechanism, Laplace)
    assert options.relative_error is not None
    margin = release.mechanism.quantile(float(options.confidence or CONFIDENCE))
    return all(enough(value, margin, options.relative_error) for value in draws.tolist())


def _changed(settings: Settings, found: Assign) -> Settings:
    """The settings after SET name = value."""
    match found.name, found.value:
        case "epsilon", "default":
            return replace(settings, epsilon=None)
        case "epsilon", Fraction() as value:
            return replace(settings, epsilon=valid_epsilon(value, found.place))
        case "repeats", "free" | "fresh" as value:
            return replace(settings, fresh=value == "fresh")
        case "dp", "on" | "off" as value:
            return replace(settings, protected=value == "on")
        case "mechanism", str() as value if value in MECHANISMS:
            return replace(settings, mechanism=value)
        case "sensitivity", str() as value if value in (*SENSITIVITIES, "local"):
            return replace(settings, sensitivity=value)
        case "reveal", "on" | "off" as value:
            return replace(settings, reveal=value == "on")
    meaning = {**SETTINGS, **TEACHING}[found.name]
    raise InvalidOption(f"{found.name}: {meaning}", place=found.place)
