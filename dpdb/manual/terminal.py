"""A page of the manual on a terminal: tables fitted to its width, headings in bold."""

from __future__ import annotations

import io
import re


def rendered(markdown: str, width: int, *, color: bool) -> str:
    """The text laid out for `width` columns; without `color` it has no escape sequences."""
    from rich.console import Console  # noqa: PLC0415 (a quarter of a second, for help alone)
    from rich.markdown import Markdown  # noqa: PLC0415

    screen = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    screen.print(Markdown(markdown, code_theme="bw"))
    assert isinstance(screen.file, io.StringIO)
    lines = [line.rstrip() for line in screen.file.getvalue().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
