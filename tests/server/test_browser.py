"""The page in Debian's chromium: with the script and without, on a phone, at 200 %, by keyboard."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.session.connect import policy_of
from tests.server.served import Known, Served
from tests.support.command_line import PEOPLE

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
GROUPED = "SELECT zip, AVG(age), COUNT(*) FROM people WHERE zip < 20000 GROUP BY zip"
PASSWORD = "correct horse battery"
EVIL = '"><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=30_000)  # other tests run at the same time
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """The people, and a table whose names are meant to become HTML."""
    folder = tmp_path_factory.mktemp("evil")
    name = EVIL.replace('"', '""')
    (folder / "evil.csv").write_text(f'"{name}",n\nx,1\ny,2\n', encoding="utf-8")
    quoted = EVIL.replace('"', '\\"')
    (folder / "evil.toml").write_text(
        f'[tables."{quoted}"]\npath = "evil.csv"\nunit = "row"\n'
        f'[tables."{quoted}".columns]\n'
        f'"{quoted}" = {{ type = "text", values = ["x", "{quoted}"] }}\n'
        'n = { type = "integer", bounds = [0, 9] }\n',
        encoding="utf-8",
    )
    budget = Budget(Fraction(1), Fraction(0), 10)
    people, evil = policy_of(PEOPLE), policy_of(folder / "evil.toml")
    return replace(people, tables=(*people.tables, *evil.tables), budget=budget)


@pytest.fixture(scope="module")
def served(policy: Policy) -> Iterator[Served]:
    with Served(policy, passing=True) as server:
        yield server


def opened(browser: Browser, server: Served, **options: object) -> Page:
    """The page in a browser of its own, in which any error of a script fails the test."""
    page = browser.new_context(**options).new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.on("console", lambda line: _refuse_violations(line.text))
    page.goto(server.origin)
    return page


def _refuse_violations(text: str) -> None:
    if "Content Security Policy" in text:
        pytest.fail(text)


def test_from_login_to_logout(browser: Browser, policy: Policy, tmp_path: Path) -> None:
    with Served(policy, Known({EVIL: PASSWORD})) as server:
        page = opened(browser, server)
        page.get_by_label("Name").fill(EVIL)
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("wrong")
        page.get_by_label("Name").fill(EVIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("banner")).to_contain_text(EVIL)

        # The price comes while the statement is typed, and nothing is paid.
        editor, price = page.get_by_label("Statement"), page.get_by_role("status")
        expect(editor).to_be_focused()
        editor.fill(GROUPED[:-3])
        page.keyboard.type(GROUPED[-3:])
        expect(price).to_contain_text("costs ε 0.1 · AVG(age) ±")
        page.get_by_text("Explain while typing").click()
        expect(page.get_by_role("main")).to_contain_text("a person has one row")
        assert server.desk.executed() == []
        editor.focus()
        page.keyboard.press("Control+Enter")
        answer = page.get_by_role("region", name="Answer")
        expect(answer).to_be_focused()
        table = answer.get_by_role("table")
        expect(table.get_by_role("columnheader")).to_have_text(["zip", "AVG(age)", "COUNT(*)"])
        expect(table.get_by_role("row")).to_have_count(6)
        expect(table.get_by_role("rowheader").first).to_have_text("10025")
        cells = table.get_by_role("cell").all_text_contents()
        assert all(re.fullmatch(r"[\d.]+ ± [\d.]+", each) for each in cells)
        # A chart for each number, with a dot and a bar of error for each row.
        charts = answer.locator("svg.chart")
        expect(charts).to_have_count(2)
        expect(charts.first).to_have_accessible_name(re.compile(r"^AVG\(age\) by zip: 5 values"))
        assert charts.first.locator("circle").count() == 5
        assert charts.first.locator(".dot").first.locator("line").count() == 3
        expect(page.get_by_role("region", name="Budget")).to_contain_text("ε 0.9 of 1 left")
        with page.expect_download() as download:
            answer.get_by_role("link", name="CSV").click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert text.startswith("zip,AVG(age),AVG(age)_low,AVG(age)_high,COUNT(*),")

        # Asked again it is free, and says so.
        page.get_by_role("button", name="Run").click()
        history = page.get_by_role("region", name="History").get_by_role("listitem")
        expect(history).to_have_count(2)
        expect(history.first).to_contain_text("free: asked before")
        expect(page.get_by_role("region", name="Budget")).to_contain_text("ε 0.9 of 1 left")
        assert table.get_by_role("cell").all_text_contents() == cells
        page.get_by_role("button", name="Log out").click()
        page.goto(server.origin)
        expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_errors_are_alerts_and_names_are_inserted(browser: Browser, served: Served) -> None:
    page = opened(browser, served)
    editor = page.get_by_label("Statement")
    editor.fill("SELECT AVG(incme) FROM people")
    expect(page.get_by_role("status")).to_contain_text("no column incme")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("did you mean income?")
    editor.fill("SELECT")
    page.get_by_role("button", name="age", exact=True).click()
    expect(editor).to_have_value("SELECT age")
    expect(editor).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Run")).to_be_focused()


def test_only_the_last_price_is_shown(browser: Browser, served: Served) -> None:
    page = opened(browser, served)
    editor, price = page.get_by_label("Statement"), page.get_by_role("status")
    asked = []
    page.on("request", lambda request: asked.append(request.post_data or ""))

    def held(route) -> None:
        if "age+%3E+21" in (route.request.post_data or ""):
            page.wait_for_timeout(400)
        route.continue_()

    page.route("**/ask", held)
    with page.expect_request("**/ask"):
        editor.fill("SELECT COUNT(*) FROM people WHERE age > 21")
    editor.fill("SELECT COUNT(*) FROM peple")
    expect(price).to_contain_text("no table peple")
    page.wait_for_timeout(450)
    expect(price).to_contain_text("no table peple")
    # While keys are pressed faster than the pause, nothing is asked.
    asked.clear()
    typed = "each => { each.value += 'x'; each.dispatchEvent(new Event('input')); }"
    editor.evaluate(f"each => {{ for (let i = 0; i < 9; i++) ({typed})(each); }}")
    expect(price).to_contain_text("no table peplexxxxxxxxx")
    assert len(asked) == 1


def test_nothing_needs_the_script(browser: Browser, served: Served) -> None:
    page = opened(browser, served, java_script_enabled=False)
    page.get_by_label("Statement").fill("SELECT COUNT(*) FROM people WHERE")
    page.get_by_role("button", name="age", exact=True).click()
    editor = page.get_by_label("Statement")
    expect(editor).to_have_value("SELECT COUNT(*) FROM people WHERE age")
    editor.fill("SELECT zip, COUNT(*) FROM people WHERE zip < 20000 GROUP BY zip")
    page.get_by_role("button", name="Price").click()
    expect(page.get_by_role("status")).to_contain_text("costs ε 0.1")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("Laplace noise")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(6)
    expect(page.locator("svg.chart")).to_have_count(1)
    page.get_by_role("button", name="Run").click()
    page.get_by_role("region", name="History").get_by_role("link").last.click()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(6)


def test_names_of_data_stay_text(browser: Browser, served: Served) -> None:
    page = opened(browser, served)
    tables = page.get_by_role("region", name="Tables")
    expect(tables.get_by_role("button", name=EVIL)).to_have_count(2)
    column = '"' + EVIL.replace('"', '""') + '"'
    page.get_by_label("Statement").fill(f"SELECT {column}, COUNT(*) FROM {column} GROUP BY 1")
    page.get_by_role("button", name="Run").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_role("rowheader").last).to_have_text(EVIL)
    expect(answer.get_by_role("columnheader").first).to_have_text(column)
    assert page.locator("img").count() == 0


CONTRAST = """() => {
  const light = (text) => {
    const parts = text.match(/[\\d.]+/g).map(Number);
    const [r, g, b] = parts.slice(0, 3).map((c) => c / 255).map(
      (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\\)|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), svg = element instanceof SVGElement;
    const [a, b] = [light(svg ? style.fill : style.color), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(`${element.tagName} ${element.textContent} ${ratio}`);
  }
  return faint;
}"""


def test_everybody_can_read_it(browser: Browser, served: Served) -> None:
    """Every text has a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3), in the light and in the dark.

    Nothing is wider than a phone, or than 1,280 pixels at 200 %, which are 640 of twice the size.
    """
    page = opened(browser, served)
    wide = 'SELECT COUNT(*) AS "' + "x" * 120 + '" FROM people'
    for statement in (wide, GROUPED, "x" * 500):
        page.get_by_label("Statement").fill(statement)
        with page.expect_response("**/ask"):
            page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("region", name="Answer")).to_be_focused()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert page.evaluate(CONTRAST) == []
        for width in (390, 640, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 390, "height": 800})
    for other in ("api", "help?topic=sql", "help?topic=avg"):
        page.goto(f"{served.origin}/{other}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
