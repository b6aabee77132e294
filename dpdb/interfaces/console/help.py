"""`.help`, and pages of the manual on a terminal: tables fitted to its width, headings in bold."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping

from dpdb import manual
from dpdb.errors import display_width, folded
from dpdb.interfaces.console.settings import SETTINGS, ShellSettings
from dpdb.interfaces.console.terminal import width


def help_on(topic: str, settings: ShellSettings, commands: Mapping[str, str]) -> str:
    """The manual on a topic, or the help of one of the `commands`; without a topic, the list."""
    if not topic:
        return _overview(commands)
    name = topic.lower()
    if name == "settings":
        return _settings(settings)
    usage = next((u for u in commands if u.split()[0].lstrip(".") == name.lstrip(".")), None)
    if usage is not None and name not in manual.topics():
        return "\n".join([usage, f"  {commands[usage]}", *_values(name.lstrip("."), settings)])
    color = settings["color"] == "on" and sys.stderr.isatty()
    return rendered(manual.topic(topic), width(), color=color)


def _values(name: str, settings: ShellSettings) -> list[str]:
    """The values that a setting can have, and which it has; nothing for another command."""
    if name not in SETTINGS:
        return []
    return [f"  {' | '.join(SETTINGS[name].values)}; now {settings[name]}"]


def _overview(commands: Mapping[str, str]) -> str:
    return "\n".join(
        [
            "Type SQL and end it with ; or a dot command:",
            *_listed(commands),
            *_paragraph(f"Manual: {' '.join([*manual.PAGES, 'settings'])}"),
        ]
    )


def _settings(settings: ShellSettings) -> str:
    rows: list[str] = []
    for setting in SETTINGS.values():
        rows.append(f"  .{setting.name:<10} {'|'.join(setting.values)}")
        meaning = f"{setting.help} (now {settings[setting.name]})"
        rows += folded(meaning, width(), " " * 14, " " * 14)
    return "\n".join(
        [
            *_paragraph(
                "The first value is the default. From config.toml in $XDG_CONFIG_HOME/dpdb"
                " (~/.config/dpdb), then --config FILE, then DPDB_MODE, DPDB_CONFIRM, …, then"
                " --format, --intervals and --no-color, then the commands themselves:"
            ),
            "",
            *rows,
            "",
            *_paragraph(
                "What touches data or budget is SQL: SET epsilon, SET repeats (.help sql)."
            ),
        ]
    )


def _paragraph(text: str) -> list[str]:
    """A text in lines that fit the window, and that are not too long to read."""
    return folded(text, min(width(), 80))


def _listed(rows: Mapping[str, str]) -> list[str]:
    indent = max(map(display_width, rows)) + 4
    return [
        line
        for name, meaning in rows.items()
        for line in folded(meaning, width(), f"  {name}".ljust(indent), " " * indent)
    ]


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
