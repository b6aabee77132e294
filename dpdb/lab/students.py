"""Invented students with grants, for the trackers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.lab.people import names

if TYPE_CHECKING:
    import numpy as np

LEVELS = 8
"""A grant is any number of thousands below this, all as likely."""

COLUMNS = f"""
name    = {{ type = "text" }}
sex     = {{ type = "text", values = ["F", "M"], nullable = false }}
subject = {{ type = "text", values = ["physics", "history", "law"], nullable = false }}
grant_k = {{ type = "integer", bounds = [0, {LEVELS - 1}], nullable = false }}
"""


def students(rng: np.random.Generator, number: int = 100) -> list[tuple[str, str, str, int]]:
    """Rows of which the first is the only woman in physics; half are women, a fifth physicists."""
    grants = rng.integers(LEVELS, size=number).tolist()
    rows = []
    for i, (name, grant) in enumerate(zip(names(number), grants, strict=True)):
        subject = "physics" if i % 5 == 0 else ("history", "law")[i % 2]
        woman = i == 0 or (subject != "physics" and i % 5 in (1, 2, 3))
        rows.append((name, "F" if woman else "M", subject, int(grant)))
    return rows
