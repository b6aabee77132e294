"""The lesson over the server: a teacher's browser, the projector's, and four students', Eve's too.

Eve hands in a file that looks for the trial's data, which finds nothing. Then she guesses by the
seed in the class's file, which is the teacher's alone, and is marked.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dpdb.lab.catalogue import find
from dpdb.lab.classroom.box import sandbox
from dpdb.lab.classroom.walls import Sandbox
from tests.lab.live.taught import Taught

CHROMIUM = shutil.which("chromium")
SPY = """
import os
from dpdb.lab.attack import Guess
from dpdb.lab.attacks.presence import Membership

class Mine(Membership):
    def run(self, session, rng):
        texts = []
        for folder, _, names in os.walk("/tmp"):
            for name in names:
                try:
                    texts.append(open(os.path.join(folder, name)).read())
                except (OSError, ValueError):
                    pass
        found = [text for text in texts if "name" in text]
        return Guess("Peter Gist" in found[0] if found else bool(rng.integers(2)), len(found))
"""
COUNT = "SELECT COUNT(*) FROM people WHERE name = 'Peter Gist'"
GUESSES = 20


@pytest.fixture
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


def opened(browser: Browser, address: str) -> Page:
    """The page in a browser of its own."""
    page = browser.new_context().new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(address)
    return page


def joined(browser: Browser, served: Taught, name: str) -> Page:
    """The page of a student."""
    page = opened(browser, served.origin)
    page.get_by_label("Code on the board").fill(served.file.state.code)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    return page


def guess(page: Page, served: Taught, seat: int, text: str) -> None:
    """Guess, and wait until that was judged."""
    team = served.file.state.contest.teams.get(seat)
    before = len(team.rounds) if team else 0
    page.get_by_label(text, exact=True).check()
    page.get_by_role("button", name="Guess").click()
    expect(page.locator("input[name=round]")).to_have_value(str(before + 1))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
@pytest.mark.skipif(sandbox() is Sandbox.NONE, reason="no sandbox here")
@pytest.mark.examples(4, 0)
def test_four_students_have_the_lesson_and_who_cheats_is_marked(
    examples: int, browser: Browser, tmp_path: Path
) -> None:
    if not examples:
        pytest.skip("other tests of the ordinary suite hold its parts")
    with Taught(tmp_path) as served:
        teacher = opened(browser, served.origin + served.teacher)
        board = opened(browser, served.origin + served.board)
        names = ("Ada", "Bob", "Cem", "Eve")
        ada, bob, cem, eve = (joined(browser, served, name) for name in names)

        teacher.get_by_role("button", name="Room").click()
        for page in (ada, bob, cem):
            page.get_by_role("button", name="1").click()
            expect(page.get_by_text("Your bit is 1")).to_be_visible()
        for stage in ("▶ Exact counts", "▶ Counts rounded", "▶ Under dpdb"):
            teacher.get_by_role("button", name=stage).click()
            teacher.get_by_role("button", name="To the end").click()
        expect(board.get_by_text("✕ refused:")).to_be_visible()

        teacher.get_by_role("button", name="Contest").click()
        teacher.get_by_label("Attack").select_option("membership")
        teacher.get_by_role("button", name="Start").click()
        for page, seat in ((ada, 1), (bob, 2)):
            page.get_by_label("Statement").fill(COUNT)
            page.get_by_label("ε for it").fill("1")
            page.get_by_role("button", name="Ask").click()
            expect(page.get_by_text("spent ε 1")).to_be_visible()
            guess(page, served, seat, "yes")
        eve.get_by_text("Hand in an attack file").click()
        eve.get_by_label("The file, in Python").fill(SPY)
        eve.get_by_role("button", name="Hand in").click()
        expect(eve.get_by_text("Your file:")).to_be_visible()
        for place in range(GUESSES):
            drawn = np.random.default_rng([served.file.state.seed, 1, place, 4])
            truth = find("membership").scenario(drawn).truth
            guess(eve, served, 4, "yes" if truth else "no")
        rows = {each.row.student: each.row for each in served.live.referee.standings()}
        assert {name: row.note == "not by asking" for name, row in rows.items()} == {
            "Ada": False, "Bob": False, "Eve · file": False, "Eve": True,
        }  # fmt: skip
        assert rows["Eve"].hits == GUESSES
        expect(board.get_by_role("row").last).to_contain_text("Eve")
        expect(board.get_by_role("row").last).to_contain_text("not by asking")

        teacher.get_by_role("button", name="Sheet").click()
        teacher.get_by_label("Questions").select_option("averaging")
        teacher.get_by_role("button", name="Hand out").click()
        for page in (ada, bob, cem, eve):
            page.locator("#q1").fill("50")
            page.get_by_role("button", name="Hand in").click()
            expect(page.get_by_text("Handed in")).to_be_visible()
        expect(board.get_by_text("4 of 4 handed in")).to_be_visible()
