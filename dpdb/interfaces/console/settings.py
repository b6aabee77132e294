"""The settings of the prompt: one table, and the sources of their values.

Values come from the configuration file, then from `--config`, then from the environment; a later
source overrides an earlier one. At the prompt, a setting's dot command changes it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import UsageError, did_you_mean
from dpdb.interfaces.console.habits import MODES
from dpdb.policy.output_files import xdg_home
from dpdb.records import dataclass

SWITCH = ("on", "off")


@dataclass(frozen=True)
class Setting:
    """A setting and the values that it can have; the first is the default."""

    name: str
    values: tuple[str, ...]
    help: str
    toggled: tuple[str, str] = SWITCH
    """The values between which it is toggled, where it has both."""

    def checked(self, value: object, source: str) -> str:
        """`value` if the setting can have it; TOML's true and false are `on` and `off`."""
        value = MODES.get(str(value), value) if self.name == "mode" else value
        given = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
        if given not in self.values:
            known = f"{', '.join(self.values[:-1])} or {self.values[-1]}"
            raise UsageError(
                f"{source}: {self.name} is {known}, not {given}",
                hint=did_you_mean(str(given), self.values),
            )
        return str(given)


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("mode", tuple(FORMATS), "how answers are shown", ("vertical", "table")),
        Setting("intervals", SWITCH[::-1], "columns x_low and x_high: the 95 % interval of x"),
        Setting("confirm", SWITCH, "ask before a query takes more than half of the ε left"),
        Setting("timer", SWITCH[::-1], "show how long an answer took"),
        Setting("color", SWITCH, "colours while you type; NO_COLOR turns them off, too"),
        Setting("pager", SWITCH[::-1], "show answers longer than the window in $PAGER, or less"),
        Setting("editing", ("emacs", "vi"), "the keys to edit with"),
    )
}


class ShellSettings:
    """The values of all settings."""

    def __init__(self) -> None:
        self._values = {name: setting.values[0] for name, setting in SETTINGS.items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self._values[name] == "on"

    def change(self, name: str, value: object, source: str) -> None:
        """Change one setting; an error about its name or value says which `source` it came from."""
        if name not in SETTINGS:
            hint = did_you_mean(name, SETTINGS) or f"settings are {', '.join(SETTINGS)}"
            raise UsageError(f"{source}: no setting {name}", hint=hint)
        self._values[name] = SETTINGS[name].checked(value, source)


def read_settings(
    config: Path | None, environment: Mapping[str, str] = os.environ
) -> ShellSettings:
    """The settings as the files and the environment have them."""
    settings = ShellSettings()
    for source, name, value in _sources(config, environment):
        settings.change(name, value, source)
    return settings


def check_settings(config: Path) -> None:
    """Raise UsageError where the file has no settings, for who does not use them."""
    settings = ShellSettings()
    for name, value in _document(config):
        settings.change(name, value, str(config))


def _sources(
    config: Path | None, environment: Mapping[str, str]
) -> Iterator[tuple[str, str, object]]:
    own = xdg_home("CONFIG", ".config", environment) / "config.toml"
    for path in ([own] if own.is_file() else []) + ([config] if config else []):
        yield from ((str(path), name, value) for name, value in _document(path))
    for name in SETTINGS:
        variable = f"DPDB_{name.upper()}"
        if variable in environment:
            yield variable, name, environment[variable]


def _document(path: Path) -> Iterable[tuple[str, object]]:
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a regular file")
        return tomllib.loads(path.read_text(encoding="utf-8-sig")).items()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise UsageError(f"{path}: {error}") from None
