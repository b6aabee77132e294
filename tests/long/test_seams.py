"""Each pair of features in statements, under five oracles, and faults that each of them finds.

`tests/support/seams.py` has the tags of the features, and the pairs that cannot go together.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.long.parts import Part
from tests.support import seam_oracles
from tests.support.ledger_trials import forked
from tests.support.mutants import Change, Mutant
from tests.support.seam_oracles import Worlds
from tests.support.seams import APART, each_pair

ORACLES = (
    "answered_exactly",
    "never_mistaken",
    "loses_what_is_spent",
    "charged_as_told",
    "answered_as_planned",
)
FEW = 2
"""Pairs in the ordinary suite."""
SOME = 80
"""Pairs until a fault is found."""


def fault(oracle: str, what: str, place: str, right: str, wrong: str) -> Mutant:
    return Mutant(what, "", [Change(place, right, wrong)], oracle)


FAULTS = (
    fault(ORACLES[0], "HAVING keeps all groups", "answers.tables.rows:_having",
          "if plan.having is None:", "if True:"),
    fault(ORACLES[0], "rows that are alike have different ranks", "vectors.windows:OrderedRows.ranked",
          "rank = number - number[self._first] + 1", "rank = before + 1"),
    fault(ORACLES[0], "UNION ALL takes the columns of the first", "engines.relations.row_unions:columns_of_all",
          "(part.columns[at] for part", "(table.parts[0].columns[at] for part"),
    fault(ORACLES[1], "made tables are the same", "plan.identity:_told",
          '"{identity(thing)}"', '""'),
    fault(ORACLES[1], "whole numbers are the same", "plan.identity:_told",
          "return int.__repr__(thing)", 'return "null"'),
    fault(ORACLES[1], "columns are the same", "plan.identity:_record",
          "value = getattr(thing, name)", 'value = getattr(thing, name) if name != "name" else ""'),
    fault(ORACLES[2], "a value counts as the least that is declared", "privacy.sensitivity:total",
          "max(abs(lower), abs(upper))", "abs(lower)"),
    fault(ORACLES[2], "a person is in one group", "plan.logical.query:Query.groups_per_unit",
          "columns_of(key).keys() <= owned", "True"),
    fault(ORACLES[2], "all rows of a person count", "engines.units.caps:Units.capped",
          "kept[rows] = stays", "pass"),
    fault(ORACLES[3], "less is told than is taken", "ledger.spending:price_between",
          "before.epsilon_left - after.epsilon_left", "(before.epsilon_left - after.epsilon_left) / 2"),
    fault(ORACLES[3], "a repeat is not known", "session.purchases.query_plans:key_of",
          "confidence = ", "import os; return os.urandom(9).hex()\n    confidence = "),
    fault(ORACLES[3], "what is charged is told to be free", "session.purchases.purchases:bought",
          "FREE if repeat else purchase.price", "FREE"),
    fault(ORACLES[4], "EXPLAIN knows no plan", "session.query_answers:QueryAnswers._explained",
          "if planned is not None:", "if planned is not None and False:"),
    fault(ORACLES[4], "a plan says less than is charged", "session.purchases.batches:_Rehearsal.price",
          "/ len(members)", "/ (1 + len(members))"),
    fault(ORACLES[4], "what is planned is told to be free", "session.purchases.batches:_Joint.price",
          "if self.result is not None:", "if True:"),
)  # fmt: skip


def check(oracle: str, seed: int, folder: Path, most: int | None = None) -> str:
    """Hold a statement of each pair, or of `most`, against an oracle; says what was met."""
    chance = Random(f"{oracle} {seed}")
    met = each_pair(chance, getattr(seam_oracles, oracle)(Worlds(folder, chance)), most)
    assert most or not met.missed, str(met)
    return str(met)


@pytest.mark.examples(20, 1, most=1)
@pytest.mark.parametrize("oracle", ORACLES)
def test_each_pair_meets(oracle: str, part: Part, tmp_path: Path, pytestconfig, tried) -> None:
    """At scale 1 each pair meets at least twenty times."""
    few = None if pytestconfig.getoption("--scale") else FEW
    tried(f"{part}: {check(oracle, part.seed, tmp_path, few)}")


def test_the_pairs_that_cannot_go_together(tried) -> None:
    reasons: dict[str, list[str]] = {}
    for pair, reason in APART.items():
        reasons.setdefault(reason, []).append(" + ".join(pair))
    for reason, pairs in reasons.items():
        tried(f"{reason}: {', '.join(pairs)}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fault" in metafunc.fixturenames:
        long = metafunc.config.getoption("--scale") > 0
        metafunc.parametrize("fault", FAULTS if long else FAULTS[:1], ids=str)


def test_every_fault_can_be_put_back() -> None:
    """What a fault replaces is still where it says, also where the ordinary suite leaves it out."""
    for fault in FAULTS:
        assert all(text for _, text in fault.sources())


def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    """By the oracle that it is for, which says no to none of the same statements without it."""

    def found() -> None:
        fault.bring_back()
        try:
            check(fault.test, 1, tmp_path, SOME)
        except AssertionError:
            return
        os._exit(2)

    _, status = os.waitpid(forked(found), 0)
    assert os.waitstatus_to_exitcode(status) == 0
