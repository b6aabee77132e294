"""The work of a draw does not tell its size, and no process repeats the draws of another."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.privacy.noise.system import SystemNoise
from tests.support.noise_laws import seeded

ROOT = Path(__file__).parents[3]


class Metered:
    """Seeded entropy that adds up what is asked of it."""

    def __init__(self, seed: int) -> None:
        self.random, self.asked = Random(seed), 0

    def __call__(self, size: int) -> bytes:
        self.asked += size
        return self.random.randbytes(size)


def one_candidate_at_a_time(noise: SystemNoise, t: int = 10) -> int:
    """CKS Algorithm 2 as printed, for the scale t: its work tells the size of the draw."""
    while True:
        u, k, v = noise.below(t), 1, 0
        while noise.below(t * k) < u:
            k += 1
        if k % 2 == 0:
            continue
        while noise._below_exp(int(noise._words(1)[0]), Fraction(1)):
            v += 1
        if noise.below(2) or u + t * v:
            return u + t * v


def work_and_size(draw: Callable[[SystemNoise], int]) -> list[tuple[int, int]]:
    entropy = Metered(15)
    noise, pairs = SystemNoise(entropy), []
    for _ in range(2_000):
        before = entropy.asked
        size = abs(draw(noise))
        pairs.append((entropy.asked - before, size))
    return pairs


def test_the_work_of_a_draw_does_not_tell_its_size() -> None:
    pairs = work_and_size(lambda noise: int(noise.laplace(Fraction(10), 1)[0]))
    ((_, usual),) = Counter(work for work, _ in pairs).most_common(1)
    assert usual >= 0.999 * len(pairs)  # 70·e^-16 of the blocks need a word more
    printed = np.array(work_and_size(one_candidate_at_a_time))
    assert np.corrcoef(printed.T)[0, 1] > 0.3


def test_nor_does_that_of_a_gaussian_draw() -> None:
    """It varies with the number of candidates; 4.892 standard errors of a correlation of 0."""
    pairs = np.array(work_and_size(lambda noise: int(noise.gaussian(Fraction(100), 1)[0])))
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 4.892 / math.sqrt(len(pairs))


def in_a_fork(noise: SystemNoise) -> bytes:
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(into, noise.laplace(Fraction(10**9), 4).tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(into)
    with os.fdopen(out, "rb") as reader:
        return reader.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # xdist's workers have threads
def test_forks_draw_different_noise() -> None:
    noise = SystemNoise()
    noise.laplace(Fraction(10**9), 4)  # anything it might keep, it has by now
    streams = [in_a_fork(noise), in_a_fork(noise), noise.laplace(Fraction(10**9), 4).tobytes()]
    assert [len(stream) for stream in streams] == [32] * 3
    assert len(set(streams)) == 3
    with_state = seeded(16)
    assert in_a_fork(with_state) == in_a_fork(with_state)


def in_a_process(code: str) -> str:
    command = [
        sys.executable,
        "-c",
        "import sys; from dpdb.privacy.noise import sources as noise; " + code,
    ]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_processes_draw_different_noise() -> None:
    code = "from fractions import Fraction as F; print(noise.SystemNoise().laplace(F(10**9), 4))"
    first, second = in_a_process(code), in_a_process(code)
    assert len(first.split()) >= 4
    assert first != second


def test_numpy_waits_for_the_first_draw() -> None:
    loaded = "print('numpy' in sys.modules); "
    draw = "noise.source('system').laplace(3, 1); "
    assert in_a_process(loaded + draw + loaded) == "False\nTrue\n"
