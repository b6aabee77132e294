"""Mechanisms answer for themselves: nobody else asks which one it is, and all are asked alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from dpdb.answers.formats.render import FORMATS
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Exact
from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.mechanism import MECHANISMS
from dpdb.session.purchases.executor import Executor
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE
from tests.support.optional import PLENTY, asking, opened

ROOT = Path(__file__).parents[2] / "dpdb"
CONCRETE = {mechanism.__name__ for mechanism in MECHANISMS}
PRIVACY = "dpdb.privacy"
ALLOWED = ("privacy", "session/purchases/executor.py", "plan/physical/mechanism_choice.py")


def named(source: str) -> Iterator[str]:
    """The concrete mechanisms that a module imports, or reaches through their module."""
    nodes = list(ast.walk(ast.parse(source)))
    ours = {"dpdb"}
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith(PRIVACY):
                ours |= {each.asname or each.name for each in names}
                yield from (each.name for each in names if each.name in CONCRETE)
            case ast.Import(names=names):
                ours |= {
                    each.asname for each in names if each.asname and each.name.startswith(PRIVACY)
                }
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in CONCRETE:
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in ours:
                yield node.attr


def elsewhere() -> list[Path]:
    """The modules that may name none."""
    paths = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py")))
    return [path for path in paths if not path.as_posix().startswith(ALLOWED)]


@pytest.mark.parametrize("path", elsewhere(), ids=str)
def test_no_other_module_names_a_mechanism(path: Path) -> None:
    assert not set(named((ROOT / path).read_text()))


def test_a_named_mechanism_is_found() -> None:
    for wrong in (
        "from dpdb.privacy.mechanisms.laplace import Laplace as L",
        "from dpdb.privacy.mechanisms import gaussian\nisinstance(x, gaussian.Gaussian)",
        "from dpdb.privacy.mechanisms.selections.walk import Walk",
        "import dpdb.privacy.mechanisms.laplace as l\nl.Laplace",
        "import dpdb.privacy.mechanisms.laplace\ndpdb.privacy.mechanisms.laplace.Laplace",
    ):
        assert set(named(wrong))


SELECTED = (
    "COUNT(*), COUNT(x)", "SUM(k)", "COUNT(DISTINCT x)", "AVG(x)", "AVG(x), COUNT(*), SUM(x)",
    "VAR_POP(k)", "STDDEV(x), AVG(x)", "CORR(x, k)", "SKEWNESS(m)", "REGR_COUNT(x, k)",
)  # fmt: skip


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("kind", NoiseKind)
def test_all_that_is_counted_or_summed_is_answered_with_each_noise(
    kind: NoiseKind, relation: Neighbors
) -> None:
    session = opened(PLENTY, relation, noise(1))
    session.execute(f"SET mechanism = '{kind}'")
    for selected in SELECTED:
        for grouped in ("", " GROUP BY g"):
            sql = f"SELECT {selected} FROM t{grouped}"
            explained, answer = session.execute(f"EXPLAIN {sql}"), session.execute(sql)
            assert " by " in FORMATS["table"](explained)
            assert [each.mechanism for each in explained.releases] == [
                each.mechanism for each in answer.releases
            ]
            assert {each.mechanism for each in answer.releases} <= {kind, kind.of_ratios}


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("terms", [1, 3])
@pytest.mark.parametrize("kind", NoiseKind)
def test_noise_of_each_kind_stays_within_its_quantile(kind: NoiseKind, terms: int) -> None:
    """Fails by chance for one seed in a million."""
    session = opened(PLENTY, noise=noise(1))
    asked = asking(f"mechanism = '{kind}', epsilon = 0.5", "SUM(x) FROM t")
    [release] = session.execute(f"EXPLAIN {asked}").plan.releases
    runs, executor = 4_000, Executor(MemoryEngine(None), noise(2), teach=False, reading=nullcontext)
    drawn = executor._draw(release, Exact(np.zeros(runs * terms, dtype=np.int64)), np.zeros(0))
    reach = release.noise.quantile(0.9, terms)
    within = int((np.abs(drawn.reshape(runs, terms).sum(axis=1)) <= reach).sum())
    assert binom.cdf(within, runs, 0.9) > 1e-6
