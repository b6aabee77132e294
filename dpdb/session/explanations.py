"""What EXPLAIN says of a plan."""

from __future__ import annotations

from dpdb.answers.answer import Answer
from dpdb.answers.notes import accuracy_notes, contribution_notes, release_reports
from dpdb.answers.notes.contribution_notes import key_notes
from dpdb.answers.record import Detail
from dpdb.answers.suggested_bounds import bin_notes
from dpdb.ledger.protocol import Balance, Price
from dpdb.plan.logical.query import Options
from dpdb.plan.physical.plan import Plan


def explained(
    text: str,
    planned: Plan,
    options: Options,
    price: Price,
    balance: Balance,
    *,
    notes: tuple[str, ...] = (),
) -> Answer:
    """The answer to EXPLAIN: draws, noise and price; `notes` come before those of the plan."""
    return Answer(
        statement=text,
        columns=tuple(output.label for output in planned.outputs),
        cells=(),
        release_detail=Detail(lambda: release_reports.reports(planned)),
        cost=price,
        balance=balance,
        query=True,
        explain=True,
        note_detail=Detail(
            lambda: (
                *notes,
                *contribution_notes.work_notes(planned),
                *key_notes(planned),
                *bin_notes(planned),
                *accuracy_notes.plan_notes(options, planned),
            )
        ),
        bounding=contribution_notes.bounding_notes(planned),
        plan=planned,
    )
