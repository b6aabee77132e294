"""What a page of the manual may have in common with what is printed now, and what not."""

from __future__ import annotations

import re

ROOM = 1.2
"""How far a ± on a page may be from that of an answer without noise, as a factor.

± of an average follows from a noisy count, which moves it by a few percent of the rows.
"""
ROOM_OF_QUANTILES = 2
"""The same for quantiles, whose widths are selected by noise, on a grid with steps of √2."""


def widths(text: str) -> list[float]:
    """The number after each ± of a cell; those of values that are only noise are left out."""
    return [float(each) for each in re.findall(r"[0-9] ± ([0-9.]+)(?! \(only)(?![0-9.])", text)]


def check_widths(printed: str, noiseless: str) -> None:
    """Assert that the ± of a page are those of the same answers without noise."""
    room = ROOM_OF_QUANTILES if re.search(r"QUANTILE|MEDIAN|q\[|found with", printed) else ROOM
    for stated, width in zip(widths(printed), widths(noiseless), strict=True):
        assert width / room <= stated <= width * room


def masked(text: str) -> str:
    """The text without what noise changes: noisy values and the widths they cause."""
    text = re.sub(r"-?[\d.]+ ± [\d.]+(?: \(only noise\))?", "NOISY", text)
    text = re.sub(r"(?m)^.* is (?:only noise|of few rows|unknown).*\n", "", text)
    text = re.sub(r"±[\d.]+ is (?:[\d.]+ % of|larger than the answer,) [\d.]+", "RELATIVE", text)
    text = re.sub(r"± is [\d.]+ %(?: to [\d.]+ %)? of the answers", "RELATIVE", text)
    over = r"\d+ of \d+ (?:rows|numbers): ± is more than half of the answer(?:\nlarger groups .*)?"
    text = re.sub(over, "RELATIVE", text)
    text = re.sub(r"\[-?[\d.]+, -?[\d.]+\]|(?<=[a-z]=)-?[\d.]+:-?[\d.]+", "BOUNDS", text)
    text = re.sub(r"clamped to -?[\d.]+ … [\d.]+, found", "clamped to BOUNDS, found", text)
    text = re.sub(r"often 0 to [\d.]+ in all", "often 0 to NOISY in all", text)
    room = r"\d+ rows? of each (\w+) counts? at most, found"
    if re.search(room, text):
        text = re.sub(room, r"NOISY rows of each \1, found", text)
        text = re.sub(r"at most \d+ rows? per (\w+) counts?,", r"at most NOISY rows per \1,", text)
    text = re.sub(r"(?m)^(\w+)(?:,-?[\d.]+){3}$", r"\1,NOISY", text)  # CSV with intervals
    text = re.sub(r'"(rows|intervals)": \[\[.*?\]\](?=, ")', r'"\1": NOISY', text)
    text = re.sub(r"-{2,}", "--", text)
    return re.sub(r" +", " ", re.sub(r"(?m)^ +| +$", "", text))
