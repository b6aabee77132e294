"""The answer to a statement, made from what was bought for it."""

from __future__ import annotations

from dpdb.answers.answer import Answer
from dpdb.answers.intervals.confidence_intervals import few_rows_notes
from dpdb.answers.notes import accuracy_notes, release_reports
from dpdb.answers.notes.contribution_notes import bounding_notes, key_notes
from dpdb.answers.record import Detail
from dpdb.answers.suggested_bounds import bin_notes, bounds_notes
from dpdb.answers.tables.derived import noisy_table
from dpdb.answers.tables.group_rows import with_all_keys
from dpdb.ledger.protocol import FREE, Balance
from dpdb.plan.physical.plan import Plan
from dpdb.session.purchases.purchases import Purchase


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
                *bin_notes(planned),
                *accuracy_notes.interval_notes(planned),
                *accuracy_notes.only_noise_notes(columns, cells),
                *few_rows_notes(planned, noisy.draws),
                *of_then,
            )
        ),
        bounding=bounding,
        told=earlier,
    )
