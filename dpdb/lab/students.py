"""Invented students with grants, and what both trackers do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab.database import Database, Refused, number
from dpdb.lab.people import names

if TYPE_CHECKING:
    import numpy as np

STUDENTS = 100
LEVELS = 8
"""A grant is a whole number of thousands below this; all are equally likely."""

COLUMNS = f"""
name    = {{ type = "text" }}
sex     = {{ type = "text", values = ["F", "M"], nullable = false }}
subject = {{ type = "text", values = ["physics", "history", "law"], nullable = false }}
grant_k = {{ type = "integer", bounds = [0, {LEVELS - 1}], nullable = false }}
"""


def students(rng: np.random.Generator) -> list[tuple[str, str, str, int]]:
    """A row for each: half are women, a fifth physicists; the first alone is both."""
    grants = rng.integers(LEVELS, size=STUDENTS).tolist()
    rows = []
    for i, (name, grant) in enumerate(zip(names(STUDENTS), grants, strict=True)):
        subject = "physics" if i % 5 == 0 else ("history", "law")[i % 2]
        woman = i == 0 or (subject != "physics" and i % 5 in (1, 2, 3))
        rows.append((name, "F" if woman else "M", subject, int(grant)))
    return rows


def asked_directly(session: Database, question: str) -> str:
    """What the database says to the question that its control should refuse, in words."""
    try:
        return f"asked directly: {number(session.execute(question)):g}"
    except Refused:
        return "asked directly: refused"


def nearest_grant(estimate: float) -> int:
    """The possible grant that is nearest to an estimate, in thousands."""
    return min(max(round(estimate), 0), LEVELS - 1)
