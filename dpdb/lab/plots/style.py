"""The colours of charts, for light and dark, and the colour of each mark."""

from __future__ import annotations

import re

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "soft": "#59636e", "rule": "#d8dee4",
    "s0": "#c4352c", "s1": "#1f6fb4", "s2": "#c77a0a", "s3": "#2f8f5b", "s4": "#8a4fbd",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "ink": "#e8ecf0", "soft": "#9aa5b1", "rule": "#343c46",
    "s0": "#f0706a", "s1": "#5aa9ea", "s2": "#e6a23c", "s3": "#58c08a", "s4": "#bd8cf0",
}  # fmt: skip

SERIES = ("s0", "s1", "s2", "s3", "s4", "soft")
TILES = ("s0", "rule", "s1", "s2")
"""The colour of each kind of tile."""

SHAPES = """\
.chart { stroke-linejoin: round; }
.chart text { font-family: system-ui, "DejaVu Sans", sans-serif; }
"""
MARKS = "".join(
    f".{mark}-{name} {{ {mark}: var(--{name}); }}\n"
    for name in LIGHT
    for mark in ("fill", "stroke")
)
"""Rules in terms of the colours' names: a page may give them its own values."""


def declared(colours: dict[str, str]) -> str:
    """The colours as variables of a page's style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def alone() -> str:
    """A style sheet for a picture that stands by itself.

    Colours are written out, because not every viewer of SVG knows variables.
    """
    light, dark = _written_out(LIGHT), _written_out(DARK)
    return f"{SHAPES}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _written_out(colours: dict[str, str]) -> str:
    return re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], MARKS)
