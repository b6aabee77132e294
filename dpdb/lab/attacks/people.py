"""Invented people, for scenarios."""

from __future__ import annotations

_FIRST = """
Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Ivan John Katherine Leslie Margaret
Niklaus Olga Peter Radia Shafi Tim Ursula Vint Whitfield Xiaoyun Yuri
"""
_LAST = """
Adler Becker Chen Diaz Evans Fischer Garcia Huber Ito Jensen Kaya Lopez Moreau Novak Okafor
Patel Quinn Rossi Sato Tran
"""


def names(number: int) -> list[str]:
    """`number` different names, at most 500; always the same ones."""
    first, last = _FIRST.split(), _LAST.split()
    return [f"{first[i % 25]} {last[(i + i // 100) % 20]}" for i in range(number)]
