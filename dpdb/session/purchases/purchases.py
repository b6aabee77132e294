"""Purchases: a plan is charged for first, and then executed; and the answer made from it.

There are no refunds: what happens after the charge is paid for.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from dpdb.answers import accuracy_notes, release_reports
from dpdb.answers.answer import Answer
from dpdb.answers.contribution_notes import bounding_notes, key_notes, limit_notes
from dpdb.answers.estimates import Draws, Noisy
from dpdb.answers.intervals.confidence_intervals import few_rows_notes
from dpdb.answers.record import Detail
from dpdb.answers.suggested_bounds import bounds_notes, needs_notes
from dpdb.answers.tables.derived import noisy_table
from dpdb.answers.tables.groups import with_all_keys
from dpdb.errors import BudgetExceeded, OutOfResources, paid_for
from dpdb.ledger.protocol import FREE, Balance, Price
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_tables import RowUnion, WindowedRows
from dpdb.plan.physical.plan import Plan
from dpdb.plan.relations.relations import Joined
from dpdb.plan.unit_work import PIECE
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.records import dataclass
from dpdb.session.purchases.executor import Executor, GradualExecutor, NoisyResult
from dpdb.session.purchases.query_plans import is_accurate
from dpdb.session.purchases.shared_levels import Shared, loss_of_step

if TYPE_CHECKING:
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.logical.query import Options


MAX_AT_ONCE = 3 * PIECE
"""The most bytes that are held of units at once: what is made, what of, and while it is made."""
OpenExecutor = Callable[[], Executor]
"""Gives the executor; it is asked for when the charge has been taken."""


@dataclass(frozen=True, repr=False)
class Purchase:
    """The noisy values that answer a query, and the price that was paid."""

    result: NoisyResult
    price: Price
    notes: tuple[str, ...] = ()
    step: int = 0
    """The index of the plan among several of rising ε."""


class Keeping(Protocol):
    """Keeps what is bought for a query, before it is shown."""

    def shared(self, plan: Plan) -> Shared:
        """The releases of a plan that somebody was shown before."""
        ...

    def keep(
        self, purchase: Purchase, shared: Shared | None = None, in_steps: bool = False
    ) -> bool:
        """Keep a purchase; no if others were quicker, so that it must be drawn again.

        `in_steps` says that it goes on from what was kept before, and that the next goes on from
        it.
        """
        ...


def check_memory(plan: Plan) -> None:
    """Refuse a plan before it is charged for, where there is no memory to work on its units.

    The memory is asked for, and given back untouched, which takes some microseconds. So whether it
    is there does not depend on rows. A system that promises more than it has refuses nothing, here
    or later: it ends the process.
    """
    made = Joined | PerUnit | RowUnion | WindowedRows
    if any(isinstance(p.table, made) and not p.table.public for p in plan.every_plan):
        try:
            mmap.mmap(-1, MAX_AT_ONCE).close()
        except OSError:
            raise OutOfResources(
                f"joins and SELECTs within FROM need {MAX_AT_ONCE >> 20} MB of memory, which are"
                " not there"
            ) from None


def settled(known: Draws = ()) -> Purchase:
    """The free answer to a plan that draws nothing: from the policy, or from known values."""
    return Purchase(NoisyResult(Noisy(known, {})), FREE)


def purchases(
    plans: Sequence[Plan],
    options: Options,
    ledger: Ledger,
    open_executor: OpenExecutor,
    keeping: Keeping,
    *,
    before: Purchase | None = None,
) -> Iterator[Purchase]:
    """The answers to one query: one, or several of rising accuracy where an error is asked for.

    Each is kept before it is given. Those that are to be as accurate as asked go on from the one
    `before`; there is none where that cannot be.
    """
    if options.relative_error is not None:
        yield from _gradual_purchases(plans, options, ledger, open_executor, keeping, before=before)
        return
    (plan,) = plans
    charged = shared = keeping.shared(plan)
    own, receipt = shared.own_loss, shared.charge(ledger)
    with paid_for():
        executor = open_executor()
        while True:
            result = executor.execute(plan, receipt, shared)
            purchase = Purchase(result, receipt.price, accuracy_notes.error_notes(options, plan))
            if keeping.keep(purchase, shared):
                break
            # Others have released some of it in the meantime. What was drawn here is forgotten.
            shared = keeping.shared(plan)
            if not (shared.loss.is_at_most(receipt.loss) and shared.own_loss.is_at_most(own)):
                # They have begun another series, of which the asker was shown nothing, or a draw
                # from their level has a larger loss by itself. What was charged for is drawn.
                shared = charged.as_they_are()
                more, own_more = shared.loss.beyond(receipt.loss), shared.own_loss.beyond(own)
                receipt += ledger.showing(own_more).charge(more, receipt.region, 0)
                own += own_more
    yield purchase


def _gradual_purchases(
    plans: Sequence[Plan],
    options: Options,
    ledger: Ledger,
    open_executor: OpenExecutor,
    keeping: Keeping,
    *,
    before: Purchase | None,
) -> Iterator[Purchase]:
    """The answers to plans of rising ε, up to the first that is as accurate as asked.

    Gradual release of Laplace noise [KHP17]: what has been paid in
    the end is the price of the last answer alone. How much that is depends on the noisy
    answers, and on nothing else: ex-post privacy [LNRWW17].
    Each step is charged for before its answer is looked at, and kept at once: a later step may
    fail, and this one is paid for all the same. What was kept last is refined once. So where
    another session has gone on from the same step, what was drawn here is forgotten.
    """
    gradual = receipt = None
    last = before
    released = {} if before is None else {before.step: before.result.noisy.draws[0]}
    first = 0 if before is None else before.step + 1
    for step, plan in enumerate(plans[first:], first):
        loss = _loss_of_step(plans, step)
        try:
            with paid_for(charged=receipt is not None):
                charged = ledger.charge(loss, plan.region, int(not step))
        except BudgetExceeded:
            if step == 0:
                raise
            return
        with paid_for():
            receipt = charged if receipt is None else receipt + charged
            gradual = gradual or GradualExecutor(open_executor(), plans, released)
            result = gradual.execute(step, receipt)
            reached = is_accurate(plan, result.noisy.draws, options)
            notes = accuracy_notes.relative_error_notes(options, plan, reached=reached)
            purchase = Purchase(result, receipt.price, notes, step)
            while not keeping.keep(purchase, in_steps=True):
                if last is not None:
                    yield replace(last, price=receipt.price)
                    return
        last = purchase
        yield purchase
        if reached:
            return


def _loss_of_step(plans: Sequence[Plan], step: int) -> ComposedLoss:
    """The loss that a step adds to the steps before it.

    ε grows by the difference of the two plans. What theorems other than the sum of ε need to
    know is that of the last plan, from the first step on: these theorems say nothing about a
    loss that depends on the answers.
    """
    if not step:
        return replace(plans[-1].composed_loss, epsilon=plans[0].loss.epsilon)
    return loss_of_step(plans[step], plans[step - 1].loss.epsilon)


def bought(
    text: str,
    planned: Plan,
    purchase: Purchase,
    balance: Balance,
    *,
    told: set[str],
    repeat: bool,
    private: bool,
    reveal: bool,
    of_day: str | None = None,
) -> Answer:
    """The answer to a statement from a purchase, which a repeat does not pay for again.

    With `reveal`, in teaching mode, it has the exact statistics besides. `told` has the notes on
    clamped values and rows left out of the session's earlier answers; those of this one are added.
    `of_day` is since when the data are those of the budget: a repeat says so, as it holds whatever
    the files have become.
    """
    noisy, before = purchase.result.noisy, planned
    planned = with_all_keys(planned, noisy)
    cells = noisy_table(planned, noisy).cells()
    columns = tuple(output.label for output in planned.outputs)
    bounding = bounding_notes(before)
    earlier = frozenset(told.intersection(bounding))
    told.update(bounding)
    of_then = [f"repeated, of the data as of {of_day}"] if repeat and of_day else []
    return Answer(
        statement=text,
        columns=columns,
        cells=cells,
        kinds=tuple(output.expression.kind for output in planned.outputs),
        origins=release_reports.origins(planned),
        release_detail=Detail(lambda: release_reports.reports(before)),
        cost=FREE if repeat else purchase.price,
        balance=balance,
        query=True,
        repeat=repeat,
        private=private,
        revealed=purchase.result.revealed if reveal else (),
        note_detail=Detail(
            lambda: (
                *purchase.notes,
                *key_notes(planned),
                *bounds_notes(planned, noisy.draws),
                *needs_notes(planned),
                *accuracy_notes.interval_notes(planned),
                *accuracy_notes.only_noise_notes(columns, cells),
                *few_rows_notes(planned, noisy.draws),
                *limit_notes(planned, noisy.draws),
                *of_then,
            )
        ),
        bounding=bounding,
        told=earlier,
    )
