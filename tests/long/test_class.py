"""A class of thirty browsers at once: joins, the room, the contest and the quiz."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.lab.live.taught import Taught

CHROMIUM = shutil.which("chromium")
COUNT = "SELECT COUNT(*) FROM people WHERE name = 'Peter Gist'"


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
@pytest.mark.examples(30, 0)
def test_a_class_of_thirty_loses_nothing_and_nobody_is_in_twice(
    examples: int, tmp_path: Path
) -> None:
    if not examples:
        pytest.skip("four browsers are in the ordinary suite")
    with Taught(tmp_path) as served:
        asyncio.run(_class(served, examples))


async def _class(served: Taught, many: int) -> None:
    expect.set_options(timeout=60_000)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        teacher = await _opened(browser, served.origin + served.teacher)
        board = await _opened(browser, served.origin + served.board)
        pages = await asyncio.gather(*(_joined(browser, served, n) for n in range(many)))
        state = served.file.state
        assert sorted(seat.name for seat in state.seats.values()) == sorted(map(_name, range(many)))

        await teacher.get_by_role("button", name="Room").click()
        await asyncio.gather(*(_typed(page, n % 2) for n, page in enumerate(pages)))
        assert {_name(n): n % 2 for n in range(many)} == {
            seat.name: seat.bit for seat in state.seats.values()
        }
        await teacher.get_by_role("button", name="▶ Exact counts").click()
        await expect(board.locator(".chairs .right")).to_have_count(max(many, 10))
        await asyncio.gather(
            *(expect(page.get_by_text("They found out your bit")).to_be_visible() for page in pages)
        )

        # A third sleeps, a third opens a second tab, a third is loaded anew.
        await teacher.get_by_role("button", name="Contest").click()
        await teacher.get_by_label("Attack").select_option("membership")
        await asyncio.gather(*(page.context.set_offline(True) for page in pages[::3]))
        await teacher.get_by_role("button", name="Start").click()
        await asyncio.gather(*(page.context.set_offline(False) for page in pages[::3]))
        await asyncio.gather(*(_second_tab(page, served) for page in pages[1::3]))
        await asyncio.gather(*(page.reload() for page in pages[2::3]))
        await asyncio.gather(*map(_asked_and_guessed, pages))
        assert len(state.contest.teams) == len(state.seats) == many
        for team in state.contest.teams.values():
            assert [each["used"] for each in team.rounds] == [0.5]

        await teacher.get_by_role("button", name="Sheet").click()
        await teacher.get_by_role("button", name="Hand out").click()
        await asyncio.gather(*(_handed_in(page, n) for n, page in enumerate(pages)))
        handed = {state.sheet_of(seat.number).answers["0"] for seat in state.seats.values()}
        assert handed == {str(n) for n in range(many)}
        await browser.close()


def _name(number: int) -> str:
    return f"student {number}"


async def _opened(browser: Browser, address: str) -> Page:
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    await page.goto(address)
    return page


async def _joined(browser: Browser, served: Taught, number: int) -> Page:
    page = await _opened(browser, served.origin)
    await page.get_by_label("Code on the board").fill(served.file.state.code)
    await page.get_by_label("Your name").fill(_name(number))
    await page.get_by_role("button", name="Join").dblclick()
    await expect(page.get_by_role("heading", level=1)).to_have_text(_name(number))
    return page


async def _typed(page: Page, bit: int) -> None:
    await page.get_by_role("button", name=str(bit)).click()
    await expect(page.get_by_text(f"Your bit is {bit}")).to_be_visible()


async def _second_tab(page: Page, served: Taught) -> None:
    tab = await page.context.new_page()
    await tab.goto(served.origin)
    await expect(tab.get_by_label("Statement")).to_be_visible()


async def _asked_and_guessed(page: Page) -> None:
    await page.get_by_label("Statement").fill(COUNT)
    await page.get_by_label("ε for it").fill("0.5")
    await page.get_by_role("button", name="Ask").dblclick()
    await expect(page.get_by_text("spent ε 0.5")).to_be_visible()
    await page.get_by_label("yes", exact=True).check()
    await page.get_by_role("button", name="Guess").dblclick()
    await expect(page.get_by_text("ε used 0.5")).to_be_visible()


async def _handed_in(page: Page, number: int) -> None:
    await page.locator("#q0").fill(str(number))
    await page.get_by_role("button", name="Hand in").click()
    await expect(page.get_by_text("Handed in")).to_be_visible()
