"""The room: what is asked, what is believed, and what there is to look at.

All seeds are fixed. Rates are held against bounds by Clopper-Pearson limits at α = 1e-6.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dpdb import manual
from dpdb.errors import DataFileError, UsageError
from dpdb.interfaces.commands.lab import room as lab_room
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.interfaces.commands.lab.room import FEWEST, MOST
from dpdb.lab.attacks.many_answers import estimates
from dpdb.lab.classroom import room as play
from dpdb.lab.classroom.room import Projector, Turn, coins, page, right, stages
from dpdb.lab.trial import interval
from tests.support.planned_once import planned_once
from tests.support.terminal import Terminal

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TYPED = "010110100101101001011010010110"
BITS = tuple(map(int, TYPED))
EXACT, ROUNDED, PRIVATE = 0, 1, 2
ALPHA = 1e-6


@pytest.fixture(scope="module", autouse=True)
def _planned_once() -> Iterator[None]:
    """Every trial of an attack asks much the same."""
    with planned_once():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all plays: the same questions about the same file are read once."""
    return tmp_path_factory.mktemp("room")


def played(number: int, directory: Path, bits: tuple[int, ...] = BITS, seed: int = 1) -> list[Turn]:
    stage = stages(len(bits))[number]
    return list(play.play(stage, bits, directory, seed))


def test_least_squares_find_the_bits_and_know_what_they_do_not_know() -> None:
    subsets = [[1, 1, 0, 0], [0, 1, 0, 0], [1, 1, 0, 1]]
    assert estimates(subsets, [1, 0, 2]) == pytest.approx([1, 0, 0.5, 1])
    assert estimates(subsets[:1], [1]) == pytest.approx([0.5] * 4)
    assert estimates(subsets[:1], [2]) == pytest.approx([1, 1, 0.5, 0.5])


def test_exact_counts_turn_every_seat_from_grey_to_solved(folder: Path) -> None:
    steps = played(EXACT, folder)
    assert steps[0].guesses.count(play.UNKNOWN) == 30
    assert steps[-1].guesses == TYPED
    # Thirty unknowns take about thirty equations, and no more are needed.
    assert 15 < next(s.asked for s in steps if s.guesses == TYPED) <= 35
    assert all(step.answer.isdigit() for step in steps)


def test_rounding_does_not_keep_the_bits(folder: Path) -> None:
    """At least nine of ten seats are solved in the end, and hardly any is wrong."""
    bits = coins(30, 1)
    steps = played(ROUNDED, folder, bits, 1)
    assert {int(step.answer) % play.ROUNDED_TO for step in steps} == {0}
    solved, opened = right(steps[-1].guesses, bits), steps[-1].guesses.count(play.UNKNOWN)
    assert solved >= 27
    assert solved + opened >= 29


def test_the_budget_empties_and_then_nothing_is_answered(folder: Path) -> None:
    steps = played(PRIVATE, folder)
    left = [step.left for step in steps]
    spent = [float(play.HONEST + asked * play.EACH) for asked in range(play.ATTACKS + 1)]
    total = float(play.BUDGET)
    assert left == pytest.approx([*(1 - s / total for s in spent), 0.0])
    assert left[-2] == left[-1] == 0.0
    assert [step.refused for step in steps] == [False] * (len(steps) - 1) + [True]
    assert "epsilon" in steps[-1].answer


def test_in_a_small_room_repeats_are_free_and_the_budget_ends_all_the_same(folder: Path) -> None:
    """Of the 1,023 questions about ten seats some come twice before fifty are paid for."""
    asked = {seed: played(PRIVATE, folder, coins(10, seed), seed) for seed in range(2)}
    assert max(steps[-1].asked for steps in asked.values()) > play.ATTACKS
    for steps in asked.values():
        assert steps[-1].refused
        assert steps[-1].left == 0.0


def test_no_question_is_about_nobody() -> None:
    """Of two seats a quarter of all random subsets is empty."""
    drawn = play.subsets(2, 1)
    assert all(any(next(drawn)) for _ in range(40))


def test_under_a_budget_seats_are_found_out_as_by_coins(folder: Path) -> None:
    """Three rooms, 90 seats: a half lies within the limits, and a room is never solved.

    If three of four seats were found out, it would not: the limits are then 0.5 and 0.92.
    """
    hits = tries = 0
    for seed in range(3):
        bits = coins(30, seed)
        end = played(PRIVATE, folder, bits, seed)[-1].guesses
        hits, tries = hits + right(end, bits), tries + 30 - end.count(play.UNKNOWN)
        assert right(end, bits) < 27
    low, high = interval(hits, tries, 1 - 2 * ALPHA)
    assert low < 0.5 < high < play.ceiling()


def test_seats_flicker_under_a_budget(folder: Path) -> None:
    guesses = [step.guesses for step in played(PRIVATE, folder)[1:]]
    turned = [
        sum(a != b for a, b in zip(before, after, strict=True))
        for before, after in pairwise(guesses)
    ]
    assert sum(turned) / len(turned) > 1


def beyond(reach: int, epsilon: float) -> float:
    """P(|X| > reach) = 2·e^(-ε(reach + 1)) / (1 + e^(-ε)) of discrete Laplace noise [GRS09]."""
    return 2 * math.exp(-epsilon * (reach + 1)) / (1 + math.exp(-epsilon))


def test_the_honest_count_is_right_to_three(folder: Path) -> None:
    """± 3 is the least reach that 95 of 100 draws keep within, and 200 counts bear it out."""
    assert beyond(3, float(play.HONEST)) <= 0.05 < beyond(2, float(play.HONEST))
    stage, inside = stages(30)[PRIVATE], 0
    for seed in range(200):
        value, _, reach = next(play.play(stage, BITS, folder, seed)).honest.partition(" ± ")
        assert reach == "3"
        inside += abs(int(value) - sum(BITS)) <= 3
    low, high = interval(inside, 200, 1 - 2 * ALPHA)
    assert low < 1 - beyond(3, float(play.HONEST)) < high
    assert high > 0.95


def test_the_story_is_told_in_numbers_of_the_constants() -> None:
    note = stages(24)[PRIVATE].note
    budget = float(play.HONEST + play.ATTACKS * play.EACH)
    assert f"at most {math.exp(budget) / (1 + math.exp(budget)):.0%}" in note
    assert f"scale {1 / play.EACH}, in a room of 24" in note


def test_the_manual_tells_the_same_play() -> None:
    told = manual.page("teaching").partition("## Room: secrets from harmless counts\n")[2]
    half = play.ATTACKS * play.EACH
    assert half == play.HONEST == play.BUDGET / 2
    assert play.ATTACKS == 50
    assert f"Under a budget of ε = {float(play.BUDGET):g} half goes to one honest question" in told
    assert "right to ± 3; the other half buys fifty questions" in told
    assert f"{FEWEST} to {MOST} of them" in told


def test_where_nobody_watches_only_the_ends_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a room that nobody typed in, which is tossed."""
    monkeypatch.setattr(lab_room, "USUAL", 10)
    bits = coins(10, 2)
    assert bits == coins(10, 2) != coins(10, 1)
    assert set(np.unique(coins(60, 1)).tolist()) == {0, 1}
    assert main(["room", "--seed", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(" · right: ") == 3
    assert re.findall(r"right: (\d+) of 10", printed)[0] == "10"
    assert "    {}\n".format(" ".join(f"[{bit}]" for bit in bits[:2])) in printed
    assert re.search(rf"the honest count: \d+ ± 3 ones in the room; in truth {sum(bits)}", printed)
    assert "✋ all " in printed
    assert "\x1b" not in printed


def test_at_a_terminal_it_is_played(folder: Path) -> None:
    screen = StringIO()
    projector = Projector(Console(file=screen, force_terminal=True, width=90), delay=0)
    stage = stages(30)[EXACT]
    projector.show(stage, BITS, play.play(stage, BITS, folder, 1))
    shown = re.findall(r"questions: (\d+) · right: (\d+) of 30", screen.getvalue())
    assert [int(asked) for asked, _ in shown[:60]] == list(range(1, 61))
    assert (shown[0][1], shown[-1][1]) == ("0", "30")


def test_bits_are_typed_in_at_a_terminal(tmp_path: Path) -> None:
    with Terminal("lab", "room", "--delay", "0", home=tmp_path) as terminal:
        terminal.wait("30 secret bits, 0 or 1; Enter tosses coins:")
        terminal.send(f"{TYPED[:9]}o\r")
        terminal.wait("error: secret bits are zeros and ones")
        terminal.send(f"{TYPED[:10]}\r")
        screen = terminal.end()
    assert "10 secret bits, typed in." in screen
    assert "[0] [1]\n    [0] [1]\n    [1] [0]\n    [1] [0]\n    [0] [1]\n" in screen
    assert "✋ all " in screen
    assert "\x1b[1;32m" in terminal.raw


def test_the_last_answer_is_in_the_last_picture() -> None:
    """Of 110 questions every second one has a picture, and of 130 every third."""
    for seats in (11, 13):
        screen, bits = StringIO(), coins(seats, 1)
        stage = stages(seats)[ROUNDED]
        steps = [Turn("", "", 1 + asked, play.UNKNOWN * seats) for asked in range(10 * seats)]
        projector = Projector(Console(file=screen, force_terminal=True, width=90), delay=0)
        projector.show(stage, bits, steps)
        shown = [int(asked) for asked in re.findall(r"questions: (\d+) ·", screen.getvalue())]
        assert shown[-1] == stage.questions == 10 * seats
        assert len(set(shown)) <= 61


def test_bits_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "class.csv"
    rows = [f"P{i},{'Yes' if i % 3 else 'no'}" for i in range(12)]
    file.write_text("\n".join(["name,smokes", *rows]), encoding="utf-8")
    assert main(["room", "--data", str(file)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("For the data owner's eyes, not to be published: smokes of class.csv")
    assert "right: 12 of 12" in printed
    file.write_text("name\nx\ny\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="no column"):
        main(["room", "--data", str(file)])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["0101"], "10 to 60 seats, and these are 4 bits"),
        (["01" * 31], "10 to 60 seats, and these are 62 bits"),
        (["0102010201"], "zeros and ones"),
        ([TYPED, "--data", "x.csv"], "not both"),
        ([TYPED[:10], "--html", "/no/where.html"], "cannot write"),
    ],
)
def test_what_is_no_room(words: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        main(["room", *words])


def test_spaces_and_commas_between_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["room", "01011", "0,1,0,0,1"]) == 0
    assert "10 secret bits, typed in" in capsys.readouterr().out


SEATS = 12


@pytest.fixture(scope="module")
def written() -> str:
    return page(BITS[:SEATS], f"{SEATS} secret bits, typed in.", 1)


def seats(page_: str, number: int) -> list[str]:
    """What the seats of a stage are, in the order of the room."""
    section = page_.partition(f'id="stage{number}"')[2].partition("</ol>")[0]
    return re.findall(r'<li class="(\w+)"', section)


def test_the_page_shows_the_end_without_javascript(written: str) -> None:
    assert seats(written, EXACT) == ["right"] * SEATS
    assert seats(written, PRIVATE).count("right") < SEATS
    assert re.search(r"The honest count: <b>\d+ ± 3</b>", written)
    assert written.count('class="controls" hidden') == 3


def test_the_page_loads_nothing_from_elsewhere(written: str) -> None:
    assert "http" not in written
    assert not re.search(r"<(link|img|iframe)|<script .*src|url\(|@import|fetch\(", written)
    assert written.count("<script>") == 1


def test_names_from_a_file_cannot_act() -> None:
    hostile = "</script><script>alert(1)</script>\x1b]0;x\x07"
    text = page(BITS[:10], hostile, 1)
    assert text.count("<script>") == 1
    assert "\x1b" not in text


def test_the_page_plays_in_a_browser(written: str, tmp_path: Path) -> None:
    """The slider of one stage is drawn to its beginning, and another is played to its end."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    hands = """<script>
      const draw = (number, place) => {
        const slider = document.querySelector(`#stage${number} input`);
        slider.value = place;
        slider.dispatchEvent(new Event("input"));
      };
      draw(0, 0);
      draw(2, 0);
      document.querySelector("#stage2 button").click();
    </script>"""
    path = tmp_path / "room.html"
    path.write_text(written.replace("</body>", f"{hands}</body>"), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command.append("--virtual-time-budget=20000")
    shown = subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()],
        capture_output=True,
        timeout=100,
        check=True,
    ).stdout.decode()
    assert seats(shown, EXACT) == ["unknown"] * SEATS
    assert seats(shown, ROUNDED) == seats(written, ROUNDED)
    assert seats(shown, PRIVATE) == seats(written, PRIVATE)
    assert " queries are used" in shown.partition('id="stage2"')[2].partition("</section>")[0]
    assert "hidden" not in "".join(re.findall(r'<p class="controls"[^>]*>', shown))
