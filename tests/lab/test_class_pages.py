"""What a class sees before it knows: worksheets with blanks, and the story in steps."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from dpdb.errors import UsageError
from dpdb.interfaces.commands.lab import attacks as lab
from dpdb.interfaces.commands.lab import room as lab_room
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab.catalogue import find
from dpdb.lab.pages import html, terminal
from dpdb.lab.pages.html import blanks
from dpdb.lab.pages.report import Report, report_of
from dpdb.lab.pages.terminal import steps
from dpdb.lab.trial import run_trials

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def report() -> Report:
    """Figures, a foil, and answers that are left out."""
    attack = find("averaging")
    return report_of(run_trials(attack, attack.defences((1.0,)), 2, 1))


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_the_steps_are_the_whole_page_in_order(report: Report) -> None:
    shown = "\n".join(step.shown for step in steps(report))
    assert lines(shown) == lines(terminal.page(report))


def test_there_is_a_question_before_each_query_and_before_each_verdict(report: Report) -> None:
    questions, queries, verdicts = "", 0, 0
    for step in steps(report):
        if re.search(r"^  > ", step.shown, re.MULTILINE):
            queries += 1
            assert questions in ("What would you ask first?", "And next?")
        if "· truth" in step.shown:
            verdicts += 1
            assert "what do you guess" in questions
        if step.shown.startswith(("THE IDEA", "HOW OFTEN", "WHAT STOPPED", "    → ")):
            assert questions
        questions = step.question
    assert queries == sum(len(act.lines) for act in report.acts) > 3
    assert verdicts == len(report.acts)


def test_enter_goes_on_and_ctrl_d_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["by asking", ""])

    def typed(question: str) -> str:
        print(question)
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["membership", "--trials", "1", "--step"]) == 0
    printed = capsys.readouterr().out
    assert "> SELECT COUNT(*) FROM people WHERE name = 'Peter Gist'" in printed
    assert printed.rstrip().endswith("? What follows from that, and what do you guess?")


def test_steps_need_a_terminal_and_an_attack() -> None:
    with pytest.raises(UsageError, match="at a terminal"):
        main(["membership", "--step"])


def test_a_worksheet_has_questions_and_room_and_no_answers(report: Report) -> None:
    page = html.worksheet(report)
    for act in report.acts:
        assert act.inference not in page
        assert act.lines[0].answer in page
    assert page.count('aria-label="Your guess"') == len(report.acts)
    assert report.secret.partition(":")[0] in page
    assert report.remedy[:40] not in page
    for task in report.tasks:
        assert task.solution[:40] not in page
    names = re.findall(r'name="(\w+)"', page.partition("<form>")[2])
    assert [name for name in names if not re.match("right|wrong", name)] == list(blanks(report))
    assert len(set(names)) == len(names)
    blank = re.sub(r"<ol>.*?</ol>|<style>.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"\d %|--seed|truth</|✔|✘|<svg", blank)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def shown(browser: Browser, text: str, folder: Path, size: tuple[int, int] = (390, 844)) -> Page:
    """A page opened from a file, without a server."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(path.as_uri())
    return page


def test_a_browser_keeps_a_worksheet_and_saves_it(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    """A reload has the entries, and the button writes them."""
    page = shown(browser, html.worksheet(report), tmp_path)
    page.fill("[name=guess0]", "yes")
    page.fill("[name=remedy]", "a budget\nfor all")
    page.check("[name=right0]")
    page.reload()
    assert page.input_value("[name=guess0]") == "yes"
    assert page.input_value("[name=remedy]") == "a budget\nfor all"
    assert page.is_checked("[name=right0]")
    with page.expect_download() as saved:
        page.click("text=save as a text")
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert "Your guess: yes" in text
    assert "What stopped it: a budget\nfor all" in text


def test_slides_fit_a_projector_and_keys_move(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    """Letters of 24 points and more, nothing cut off, a sheet of paper for each slide."""
    page = shown(browser, html.slides(report), tmp_path, (1280, 720))
    slides = page.evaluate("document.querySelectorAll('.slide').length")
    cut = """[...document.querySelectorAll('.slide')].filter(
        (slide) => slide.scrollHeight > slide.clientHeight + 1
                || slide.scrollWidth > slide.clientWidth + 1).length"""
    assert page.evaluate(cut) == 0
    letters = "[...document.querySelectorAll('.slide :is(p, li, code, h2)')].map((each) => parseFloat(getComputedStyle(each).fontSize))"
    assert min(page.evaluate(letters)) >= 32  # pixels, of which 96 are an inch of 72 points
    for key, place in (("ArrowRight", 2), (" ", 3), ("PageUp", 2), ("End", slides), ("Home", 1)):
        page.keyboard.press(key)
        assert page.evaluate("location.hash") == f"#{place}"
        assert page.evaluate(f"Math.round(scrollY / innerHeight) + 1 == {place}")
    paper = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b(?!s)", paper)) == slides
    # What is on the page is on the slides.
    text = page.evaluate("document.body.textContent")
    for part in (report.idea, report.remedy, *(task.solution for task in report.tasks)):
        assert all(piece in text for piece in html.thoughts(part))
        assert " ".join(html.thoughts(part)) == part


def test_a_phone_shows_both_columns_and_charts_to_read(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    inside = "document.documentElement.scrollWidth <= innerWidth"
    page = shown(browser, html.index([report]), tmp_path)
    assert page.evaluate(inside)
    without, private = (page.locator(f"td.{side}").bounding_box() for side in ("off", "private"))
    assert without is not None
    assert private is not None
    assert without["y"] == private["y"]
    assert without["x"] + without["width"] <= private["x"] <= 390 - private["width"]
    page = shown(browser, html.page(report), tmp_path)
    assert page.evaluate(inside)
    scale = "document.querySelector('.chart').getBoundingClientRect().width / document.querySelector('.chart').viewBox.baseVal.width"
    assert 10 * page.evaluate(scale) >= 10.5  # letters are 10 units high
    assert shown(browser, html.worksheet(report), tmp_path).evaluate(inside)


def test_a_worksheet_is_whole_and_loads_nothing(report: Report) -> None:
    class Checked(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.stack: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "input"):
                self.stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.stack.pop() == tag

    for page in (html.worksheet(report, [report.name]), html.worksheets([report])):
        checked = Checked()
        checked.feed(page)
        assert not checked.stack
        assert not re.search(r"http|<(script |link|img|iframe)|url\(|@import|fetch", page)


def test_worksheets_are_written_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = {name: find(name) for name in ("membership", "group-keys")}
    monkeypatch.setattr(lab, "catalogue", lambda: some)
    monkeypatch.setattr(lab_room, "USUAL", lab_room.FEWEST)
    assert main(["--all", "--html", str(tmp_path), "--student", "--trials", "1"]) == 0
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="([^"]+)"', index) == [*(f"{name}.html" for name in some), lab.ROOM]
    assert 'aria-label="Your guess"' in (tmp_path / "membership.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="--slides goes with --html"):
        main(["membership", "--slides"])
    with pytest.raises(UsageError, match="--student goes with --html"):
        main(["membership", "--student"])
