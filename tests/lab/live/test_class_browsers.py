"""A class in Debian's chromium: four browsers, on a phone's width, at 200 %, without the script."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.lab.live.taught import Taught

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
EVIL = '"><img src=x onerror=alert(1)>'
PHONE = {"viewport": {"width": 390, "height": 780}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=30_000)  # other tests run at the same time
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


def opened(browser: Browser, url: str, **options: object) -> Page:
    """The page in a browser of its own, in which any error of a script fails the test."""
    page = browser.new_context(**options).new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.on("console", lambda line: _refuse_violations(line.text))
    page.goto(url)
    return page


def _refuse_violations(text: str) -> None:
    if "Content Security Policy" in text:
        pytest.fail(text)


def joined(browser: Browser, served: Taught, name: str, **options: object) -> Page:
    """The page of a student who has joined."""
    page = opened(browser, served.origin, **options)
    page.get_by_label("Code on the board").fill(served.file.state.code)
    page.get_by_label("Your name").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    return page


def is_as_wide_as_its_window(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_a_class_in_four_browsers(browser: Browser, tmp_path: Path) -> None:
    with Taught(tmp_path) as served:
        board = opened(browser, served.origin + served.board)
        teacher = opened(browser, served.origin + served.teacher)
        ada = joined(browser, served, "Ada", **PHONE)
        eve = joined(browser, served, EVIL, java_script_enabled=False)
        expect(board.get_by_role("listitem")).to_have_text(["Ada", EVIL])

        # The room: without a reload, from the bit to what was found out.
        teacher.get_by_role("button", name="Room").click()
        ada.get_by_role("button", name="1").click()
        expect(ada.get_by_role("status").last).to_contain_text("Your bit is 1")
        expect(board.get_by_role("listitem").first).to_contain_text("✓")
        eve.goto(served.origin)
        assert is_as_wide_as_its_window(ada)
        teacher.get_by_role("button", name="▶ Exact counts").click()
        expect(board.get_by_role("list", name="Seats").locator(".right")).to_have_count(10)
        expect(ada.get_by_role("status").last).to_contain_text("They found out your bit: 1")

        # A laptop that sleeps has no connection, and misses nothing; a second tab is the same seat.
        tab = ada.context.new_page()
        tab.goto(served.origin)
        expect(tab.get_by_role("main")).to_contain_text("seat 1")
        ada.context.set_offline(True)
        teacher.get_by_role("button", name="Exact counts").last.click()
        expect(board.get_by_role("heading", level=2)).to_contain_text("the class asks")
        ada.context.set_offline(False)
        ada.get_by_label("2 ").check()
        ada.get_by_role("button", name="Ask").click()
        bit = served.file.state.room.bits[1]
        expect(board.get_by_role("main")).to_contain_text(f"seat IN (2)→ {bit}")

        # The contest and a sheet, with the script and without, by keyboard, at 200 %.
        ada.evaluate("document.documentElement.style.fontSize = '200%'")
        assert is_as_wide_as_its_window(ada)
        teacher.get_by_role("button", name="Contest").click()
        teacher.get_by_label("Attack").select_option("membership")
        teacher.get_by_role("button", name="Start").click()
        ada.get_by_label("Statement").fill("SELECT COUNT(*) FROM people")
        assert is_as_wide_as_its_window(ada)
        ada.get_by_role("button", name="Ask").click()
        expect(ada.get_by_role("table")).to_contain_text("COUNT(*)")
        eve.goto(served.origin)
        eve.get_by_label("yes", exact=True).focus()
        eve.keyboard.press("Space")
        eve.keyboard.press("Enter")
        expect(eve.get_by_role("main")).to_contain_text("ε used 0")
        expect(board.get_by_role("rowheader")).to_have_text([EVIL])
        teacher.get_by_role("button", name="Sheet").click()
        teacher.get_by_role("button", name="Hand out").click()
        first = ada.get_by_role("textbox").first
        first.press_sequentially("50")
        assert is_as_wide_as_its_window(ada)
        expect(teacher.get_by_role("row").nth(1)).to_contain_text("Ada1")  # while it is typed
        ada.reload()
        expect(first).to_have_value("50")
        eve.goto(served.origin)
        eve.get_by_role("button", name="Hand in").click()
        expect(eve.get_by_role("status").last).to_contain_text("Handed in")
        assert len(served.file.state.present) == 2
