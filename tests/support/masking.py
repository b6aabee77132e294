"""Texts without what noise changes, to compare the manual with what is printed now."""

from __future__ import annotations

import re


def masked(text: str) -> str:
    """The text without what noise changes: noisy values and the widths they cause."""
    text = re.sub(r"-?[\d.]+ ± [\d.]+(?: \(only noise\))?", "NOISY", text)
    text = re.sub(r"(?m)^.* is (?:only noise|of few rows|unknown).*\n", "", text)
    text = re.sub(r"±[\d.]+ is (?:[\d.]+ % of|larger than the answer,) [\d.]+", "RELATIVE", text)
    text = re.sub(r"± is [\d.]+ %(?: to [\d.]+ %)? of the answers", "RELATIVE", text)
    text = re.sub(r"(?m)^(\w+)(?:,-?\d+){3}$", r"\1,NOISY", text)  # CSV with intervals
    text = re.sub(r'"(rows|intervals)": \[\[.*?\]\](?=, ")', r'"\1": NOISY', text)
    text = re.sub(r"-{2,}", "--", text)
    return re.sub(r" +", " ", re.sub(r"(?m)^ +| +$", "", text))
