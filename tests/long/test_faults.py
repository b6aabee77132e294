"""Known faults are put back into dpdb one by one, and the named test says no to each.

The ordinary suite puts back one for each attack. `tests.support.faults` is the list.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dpdb import manual
from tests.support.faults import FAULTS
from tests.support.mutants import ROOT, Mutant, outcome

QUICK = tuple({fault.attack: fault for fault in reversed(FAULTS) if not fault.slow}.values())
"""For every attack the first fault whose test is soon over."""
TESTS = tuple(dict.fromkeys(fault.test for fault in FAULTS))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    long = metafunc.config.getoption("--scale") > 0
    if "fault" in metafunc.fixturenames:
        metafunc.parametrize("fault", FAULTS if long else QUICK, ids=str)
    if "test" in metafunc.fixturenames:
        metafunc.parametrize("test", TESTS if long else TESTS[:1])


def test_a_test_says_no(fault: Mutant) -> None:
    """By an assertion: a mutant that crashes would prove nothing."""
    assert outcome(fault.test, fault.bring_back).startswith("failed: ")


def test_without_a_fault_the_test_says_yes(test: str) -> None:
    assert outcome(test) == "passed"


def test_a_fault_that_is_not_put_back_is_no_fault() -> None:
    [change] = FAULTS[0].changes
    elsewhere = replace(FAULTS[0], changes=[replace(change, right="what is not there")])
    with pytest.raises(AssertionError, match="not there once"):
        elsewhere.bring_back()


def test_every_fault_can_be_put_back() -> None:
    """What a fault replaces is still where it says, also where the ordinary suite leaves it out."""
    for fault in FAULTS:
        assert all(text for _, text in fault.sources())


def attacks() -> list[str]:
    """The first column of the manual's table of attacks, but for what dpdb cannot stop."""
    table = manual.page("attacks").partition("\n## ")[0]
    pattern = r"^\| (?!attack \||-)(.+?) \| (?!nothing here)"
    return re.findall(pattern, table, flags=re.MULTILINE)


def test_every_attack_has_a_fault() -> None:
    assert set(attacks()) == {
        attack for fault in FAULTS for attack in attacks() if attack.startswith(fault.attack)
    }


def test_every_test_is_there() -> None:
    for test in TESTS:
        file, _, name = test.partition("[")[0].partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")
