"""Where settings come from, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb import manual
from dpdb.errors import UsageError
from dpdb.interfaces.console.settings import SETTINGS, read_settings
from dpdb.policy.output_files import xdg_home


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "dpdb").mkdir()
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def write(home: dict[str, str], text: str, name: str = "config.toml") -> Path:
    path = Path(home["XDG_CONFIG_HOME"]) / "dpdb" / name
    path.write_text(text)
    return path


def test_defaults(home: dict[str, str]) -> None:
    settings = read_settings(None, home)
    assert [settings[name] for name in SETTINGS] == [
        "table", "off", "on", "off", "on", "off", "emacs",
    ]  # fmt: skip


@pytest.mark.parametrize("form", SETTINGS["mode"].values)
def test_each_format_is_in_the_manual(form: str) -> None:
    pages = Path(manual.__file__).parent.glob("*.md")
    assert any(f"`{form}`" in page.read_text(encoding="utf-8") for page in pages)


def test_the_later_source_is_the_stronger(home: dict[str, str]) -> None:
    write(home, 'mode = "csv"\nediting = "vi"\ntimer = true\n')
    more = write(home, 'mode = "json"\nediting = "emacs"\n', "more.toml")
    settings = read_settings(more, {**home, "DPDB_MODE": "markdown"})
    assert (settings["timer"], settings["editing"], settings["mode"]) == ("on", "emacs", "markdown")
    settings.change("mode", "vertical", "--format")
    assert settings["mode"] == "vertical"


@pytest.mark.parametrize(("text", "message"), [
    ("mdoe = 1", "no setting mdoe"), ("mode = 3", "mode is table, csv"), ("timer = 'yes'", "yes"),
    ("=", "config.toml"), ("confirm = []", "confirm is on or off"),
])  # fmt: skip
def test_what_is_wrong_is_said(home: dict[str, str], text: str, message: str) -> None:
    path = write(home, text)
    with pytest.raises(UsageError, match=message) as caught:
        read_settings(None, home)
    assert str(path) in caught.value.message


def test_wrong_environment_and_missing_file(home: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="DPDB_TIMER: timer is off or on, not 1"):
        read_settings(None, {**home, "DPDB_TIMER": "1"})
    with pytest.raises(UsageError, match="cannot read"):
        read_settings(Path("/nowhere.toml"), home)


def test_relative_directories_are_ignored() -> None:
    found = xdg_home("CONFIG", ".config", {"XDG_CONFIG_HOME": "here"})
    assert found == Path.home() / ".config" / "dpdb"
