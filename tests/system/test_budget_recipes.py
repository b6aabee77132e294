"""The recipes for lasting budgets: the session of the page is typed again, command by command."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from tests.support.masking import check_widths, masked
from tests.support.noiseless import Noiseless

PAGE = manual.page("budgets")
[POLICY, RENEWED] = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
[SESSION] = re.findall(r"```text\n(\$ dpdb .*?)```", PAGE, flags=re.DOTALL)
STEPS = [tuple(step.split("\n", 1)) for step in re.split(r"(?m)^\$ ", SESSION)[1:]]
[ACCEPT, BEGIN] = re.findall(r"```sh\n(.*?)\n```", PAGE)
ANYTHING = "…\n"
"""The line that stands for lines which the page leaves out."""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with data and policy, which is where commands are typed."""
    (tmp_path / "clinic.csv").write_text("age\n" + "40\n50\n" * 200, encoding="utf-8")
    (tmp_path / "clinic.toml").write_text(POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    return tmp_path


def test_a_session_of_two_analysts(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without noise, so that each ± on the page can be compared."""
    monkeypatch.setattr("dpdb.session.query_answers.source", lambda _: Noiseless())
    assert len(STEPS) == 7
    for command, expected in STEPS:
        assert main(shlex.split(command)[1:]) == 0
        shown = capsys.readouterr().out
        check_widths(expected, shown)
        printed = masked(shown)
        wanted = "(?s:.*)".join(re.escape(masked(part)) for part in expected.split(ANYTHING))
        assert re.fullmatch(wanted, printed), command


def test_a_changed_policy_is_accepted_and_a_new_budget_begun(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["clinic.toml", "-c", "SELECT COUNT(*) FROM clinic"]
    assert main(["budget", "open", "clinic.toml"]) == main(ask) == 0
    (clinic / "clinic.toml").write_text(POLICY.replace("120", "110"), encoding="utf-8")
    assert main(ask) == 2
    assert main(shlex.split(ACCEPT)[1:]) == 0
    assert main(["budget", "verify", "clinic.toml"]) == 0
    assert "ε 0.1 spent" in capsys.readouterr().out
    assert main(shlex.split(BEGIN)[1:]) == 0
    assert main(["budget", "verify", "clinic.toml"]) == 0
    assert "ε 0 spent" in capsys.readouterr().out
    (clinic / "clinic.ledger").unlink()
    assert main(ask) == 2


def test_a_budget_of_periods(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = POLICY[POLICY.index("[tables.clinic]") :]
    (clinic / "clinic.toml").write_text(f"{RENEWED}\n{tables}", encoding="utf-8")
    assert main(["budget", "open", "clinic.toml"]) == 0
    assert "30 days" in capsys.readouterr().out
    unaware = RENEWED.replace("acknowledge_renewal = true", "")
    (clinic / "clinic.toml").write_text(f"{unaware}\n{tables}", encoding="utf-8")
    assert main(["budget", "show", "clinic.toml"]) == 2
