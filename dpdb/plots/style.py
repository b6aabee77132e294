"""The colours of charts, for light and dark, and which mark has which."""

from __future__ import annotations

import re

LIGHT = {
    "paper": "#fff", "ink": "#1b1f24", "soft": "#59636e", "rule": "#d8dee4", "blank": "#d8dee4",
    "s0": "#c4352c", "s1": "#1f6fb4", "s2": "#c77a0a", "s3": "#2f8f5b", "s4": "#8a4fbd",
    "s5": "#59636e",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "ink": "#e8ecf0", "soft": "#9aa5b1", "rule": "#343c46", "blank": "#343c46",
    "s0": "#f0706a", "s1": "#5aa9ea", "s2": "#e6a23c", "s3": "#58c08a", "s4": "#bd8cf0",
    "s5": "#9aa5b1",
}  # fmt: skip

SERIES = ("s0", "s1", "s2", "s3", "s4", "s5")
TILES = ("s0", "blank", "s1", "s2")
"""The colour of each kind of tile."""

MARKS = (
    """\
svg text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--soft); }
svg .baseline { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 2 4; }
svg .series { fill: none; stroke-width: 2; }
"""
    + "".join(f"svg .{name} {{ stroke: var(--{name}); }}\n" for name in SERIES)
    + "".join(f"svg .k{kind} {{ fill: var(--{name}); }}\n" for kind, name in enumerate(TILES))
)
"""Rules in terms of the colours' names: a page may give them its own values."""


def declared(colours: dict[str, str]) -> str:
    """The colours as variables of a page's style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def alone() -> str:
    """A style sheet for a picture that stands by itself.

    Colours are written out, because not every viewer of SVG knows variables.
    """
    rules = MARKS + "svg .title { font-weight: 600; }\nsvg .paper { fill: var(--paper); }\n"
    light, dark = _written_out(rules, LIGHT), _written_out(rules, DARK)
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _written_out(rules: str, colours: dict[str, str]) -> str:
    return re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], rules)
