"""`.help`: the list of dot commands, the settings, and the pages of the manual."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping

from wcwidth import wcswidth

from dpdb import manual
from dpdb.interfaces.shell.settings import SETTINGS, ShellSettings
from dpdb.interfaces.shell.terminal import width
from dpdb.manual.terminal import rendered


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
            "",
            *_listed(commands),
            "",
            textwrap.fill(f"Manual: {', '.join([*manual.PAGES, 'settings'])}.", 78),
        ]
    )


def _settings(settings: ShellSettings) -> str:
    rows: list[str] = []
    for setting in SETTINGS.values():
        rows.append(f"  .{setting.name:<10} {'|'.join(setting.values)}")
        rows.append(f"{'':14}{setting.help} (now {settings[setting.name]})")
    return "\n".join(
        [
            "The first value is the default. From config.toml in $XDG_CONFIG_HOME/dpdb",
            "(~/.config/dpdb), then --config FILE, then DPDB_MODE, DPDB_CONFIRM, …, then",
            "--format, --intervals and --no-color, then the commands themselves:",
            "",
            *rows,
            "",
            "What touches data or budget is SQL: SET epsilon, SET repeats (.help sql).",
        ]
    )


def _listed(rows: Mapping[str, str]) -> list[str]:
    width = max(map(wcswidth, rows)) + 2
    return [f"  {name}{' ' * (width - wcswidth(name))}{meaning}" for name, meaning in rows.items()]
