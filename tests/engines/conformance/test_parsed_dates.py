"""STRPTIME and PARSE_DATE on hostile texts, against a reader of one cell written for this test."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from dpdb.policy.reading.reader import read_policy
from tests.engines.conformance.conftest import OpenEngine
from tests.support.exactly import exactly

BLANKS = " \t\n\v\f\r"
EPOCH = datetime.datetime(1970, 1, 1)
PIECES = [
    *("1", "2", "9", "02", "29", "30", "31", "12", "13", "0", "00", "001", "366"),
    *("2020", "1900", "1699", "1700", "2199", "2200", "0000", "0001", "9999", "20200"),
    *("/", "/", "/", ".", "-", " ", ":", ":", "\t", "\u00a0", "\u2003", "\u0661", "\uff12", "+"),
    *("\u00b2", "_", "'", "?", "%", "%Y", "x", "10:30", "23:59:59", "24:00", "-1"),
]


def whole(text: str, most: int) -> int | None:
    """The number that up to `most` digits of ASCII write."""
    return int(text) if 0 < len(text) <= most and all("0" <= c <= "9" for c in text) else None


def day_of(text: str) -> datetime.datetime | None:
    """The day that month/day/year writes, the year in four digits."""
    parts = text.split("/")
    if len(parts) != 3 or len(parts[2]) != 4:
        return None
    month, day, year = whole(parts[0], 2), whole(parts[1], 2), whole(parts[2], 4)
    try:
        return datetime.datetime(year or 0, month or 0, day or 0)
    except ValueError:
        return None


def moment_of(text: str) -> datetime.datetime | None:
    """The time that `%m/%d/%Y %H:%M` writes."""
    date, blank, clock = text.partition(" ")
    parts = clock.split(":")
    day = day_of(date)
    if not blank or len(parts) != 2 or day is None:
        return None
    hour, minute = whole(parts[0], 2), whole(parts[1], 2)
    if hour is None or minute is None or hour > 23 or minute > 59:
        return None
    return day + datetime.timedelta(hours=hour, minutes=minute)


def stamped(moment: datetime.datetime | None) -> datetime.datetime | None:
    """The moment, where timestamps have its year."""
    return moment if moment is not None and 1700 <= moment.year <= 2199 else None


CALLS: dict[str, tuple[str, Callable[[str], datetime.datetime | None]]] = {
    "PARSE_DATE('%m/%d/%Y', s)": ("day", day_of),
    "STRPTIME(s, '%m/%d/%Y')": ("day", lambda text: stamped(day_of(text))),
    "PARSE_DATE('%m/%d/%Y %H:%M', s)": ("day", moment_of),
    "PARSE_TIMESTAMP('%m/%d/%Y %H:%M', s)": ("minute", lambda text: stamped(moment_of(text))),
}
UNITS = {"day": datetime.timedelta(days=1), "minute": datetime.timedelta(minutes=1)}


def hostile_texts(chance: random.Random) -> list[str]:
    """Texts that are nearly dates, some of them dates, and some far from any."""

    def near() -> str:
        year = chance.choice(["2020", "1900", "2021", "1699", "1700", "2199", "2200", "9999", "20"])
        text = f"{chance.randrange(14)}/{chance.randrange(33):02}/{year}"
        if chance.random() < 0.5:
            text += f" {chance.randrange(26)}:{chance.randrange(62):02}"
        if chance.random() < 0.4:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(PIECES) + text[at + chance.randrange(2) :]
        return text

    def far() -> str:
        return "".join(chance.choice(PIECES) for _ in range(chance.randrange(8)))

    return [near() for _ in range(500)] + [far() for _ in range(150)] + ["1" * 9_000, "2/29/2020 "]


@pytest.mark.parametrize("call", CALLS)
def test_a_text_is_the_date_that_one_cell_reads(
    tmp_path: Path, open_fast_engine: OpenEngine, call: str
) -> None:
    texts = hostile_texts(random.Random(30))
    quoted = (f'{at},"{text}"' for at, text in enumerate(texts))
    (tmp_path / "t.csv").write_bytes("\n".join(["id,s", *quoted]).encode())
    (tmp_path / "t.toml").write_text(
        "[tables.t.columns]\n"
        f'id = {{ type = "integer", bounds = [0, {len(texts) - 1}], nullable = false }}\n'
        's = { type = "text", length = 10000 }\n'
    )
    policy = read_policy(tmp_path / "t.toml")
    unit, reference = CALLS[call]
    since = f"DATE_DIFF('{unit}', DATE '1970-01-01', {call})"
    sums, known = exactly(
        f"SELECT SUM(CLAMP({since}, -1e9, 1e9)), COUNT({call}) FROM t GROUP BY id",
        policy,
        open_fast_engine(),
    )
    read = [reference(text.strip(BLANKS)) for text in texts]
    assert sum(moment is not None for moment in read) > 50
    assert known == [moment is not None for moment in read]
    assert sums == [0 if each is None else (each - EPOCH) // UNITS[unit] for each in read]
