"""Answers and errors as JSON, one object on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpdb.answers.record import AnswerRecord, ReleaseReport
from dpdb.errors import DpdbError, Place, ServerError, printable
from dpdb.ledger.protocol import Price
from dpdb.policy.budget import Composition


def as_json(answer: AnswerRecord) -> str:
    """The answer as one object of JSON on one line."""
    fields: dict[str, Any] = {"trial": True} if answer.trial else {}
    fields |= {"statement": answer.statement, "columns": answer.columns, "rows": answer.rows}
    if answer.query:
        fields |= {
            "intervals": answer.intervals,
            "releases": [_release(report) for report in answer.releases],
            "would_cost" if answer.trial else "cost": _price(answer.would_cost or answer.cost),
        }
    if not answer.trial:
        fields["budget"] = _budget(answer)
    if answer.query:
        fields |= {"private": answer.private, "repeat": answer.repeat}
    if answer.explain:
        fields["explain"] = True
        if work := work_of(answer):
            fields["work"] = dict(work)
    if answer.notes:
        fields["notes"] = answer.notes
    if answer.bounding:
        fields["bounding"] = answer.bounding
    if answer.revealed:
        fields["reveal"] = [
            {"column": shown.column, "stat": shown.stat, "b": shown.scale}
            for shown in answer.revealed
        ]
    return dumped(fields)


def _price(price: Price) -> dict[str, Any]:
    epsilon, delta = float(price.epsilon), float(price.delta)
    return {"epsilon": epsilon, "delta": delta, "queries": price.queries}


def work_of(answer: AnswerRecord) -> tuple[tuple[str, int | float | str], ...]:
    """The most rows and time that one unit can add, and the tables where most are added.

    Empty where both are little.
    """
    if answer.plan is None:
        return () if answer.outline is None else answer.outline.work
    work = answer.plan.work
    if not work.is_large:
        return ()
    largest, dearest = work.largest, work.dearest
    assert largest is not None
    assert dearest is not None
    return (
        ("rows", largest.made),
        ("largest", largest.name),
        ("seconds", work.seconds),
        ("dearest", dearest.name),
    )


def _budget(answer: AnswerRecord) -> dict[str, Any]:
    balance, budget = answer.balance, answer.balance.budget
    fields: dict[str, Any] = {
        "epsilon": float(budget.epsilon),
        "epsilon_left": float(balance.epsilon_left),
        "delta": float(budget.delta),
        "delta_left": float(balance.delta_left),
        "queries": budget.queries,
        "queries_left": balance.queries_left,
    }
    if budget.composition is not Composition.PURE:
        fields |= {"composition": str(budget.composition), "theorem": str(answer.theorem)}
    return fields


def error_as_json(statement: str, error: DpdbError) -> str:
    """An error as one object on one line."""
    fields: dict[str, Any] = {"kind": error.kind, "message": error.message, "hint": error.hint}
    if error.place:
        fields |= {"line": error.place.line, "column": error.place.column}
    marked: dict[str, Any] = {"trial": True} if error.trial else {}
    return dumped(marked | {"statement": statement, "error": fields})


def error_in(text: str) -> DpdbError:
    """The error of `error_as_json`; raises ValueError or TypeError where there is none."""
    told = json.loads(text)
    fields, kinds = told["error"], {each.__name__: each for each in _kinds(DpdbError)}
    texts = told["statement"], fields["kind"], fields["message"], fields["hint"] or ""
    if not all(isinstance(each, str) for each in texts):
        raise TypeError("texts are needed")
    error = kinds.get(fields["kind"], ServerError)(fields["message"], hint=fields["hint"])
    if "line" in fields:
        error.place = Place(max(int(fields["line"]), 1), max(int(fields["column"]), 1))
    error.statement, error.trial = told["statement"], told.get("trial") is True
    return error


def _kinds(kind: type[DpdbError]) -> Iterator[type[DpdbError]]:
    """The class of errors, and all below it."""
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def dumped(content: object) -> str:
    """JSON on one line, in which no character moves the cursor of a terminal."""
    # JSON leaves DEL and the C1 controls as they are, and terminals act on them.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    if printable(text) == text:
        return text
    # In ASCII each of them is an escape, or two where it is beyond U+FFFF.
    return "".join(json.dumps(c)[1:-1] if printable(c) != c else c for c in text)


def _release(report: ReleaseReport) -> dict[str, Any]:
    recalled: dict[str, Any] = {"repeat": True} if report.recalled else {}
    if report.source is not None:
        recalled["source"] = report.source
    return recalled | {
        "column": report.column,
        "aggregate": report.aggregate,
        "mechanism": report.mechanism,
        "sensitivity": number(report.sensitivity),
        "scale": number(report.scale),
        "epsilon": float(report.epsilon),
        "delta": float(report.delta),
        "group": report.group,
    }


def number(value: Fraction | None) -> float | None:
    """A number of a release; None if it is secret."""
    return None if value is None else float(value)
