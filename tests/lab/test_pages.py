"""The HTML pages: complete in themselves, harmless, and with marks in their charts."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpdb.lab import html
from dpdb.lab.catalogue import find
from dpdb.lab.report import Report, report
from dpdb.lab.trial import run_trials

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EPSILONS = (0.1, 5.0)


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    """Bars only, bars and lines, bars and tiles."""
    attacks = [find(name) for name in ("many-rows", "possible-worlds", "floating-point")]
    return [report(run_trials(attack, attack.defences(EPSILONS), 6, 1)) for attack in attacks]


def opened(path: Path) -> str:
    """The page as a browser understands it."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    profile = f"--user-data-dir={path.parent / 'profile'}"
    shown = subprocess.run(
        [*command, profile, path.as_uri()], capture_output=True, timeout=60, check=True
    )
    return shown.stdout.decode()


def marks(page: str, kind: str, shape: str) -> list[str]:
    """The tags of a shape in the charts of a kind."""
    charts = re.findall(rf'<svg class="{kind}".*?</svg>', page, re.DOTALL)
    return re.findall(rf"<{shape}\b[^>]*>", "".join(charts))


def measured(tag: str, name: str) -> float:
    found = re.search(rf'\b{name}="([-\d.]+)"', tag)
    assert found
    return float(found[1])


def test_charts_have_marks_in_a_browser(reports: list[Report], tmp_path: Path) -> None:
    pages = []
    for told in reports:
        path = tmp_path / f"{told.name}.html"
        path.write_text(html.page(told, reports), encoding="utf-8")
        pages.append(opened(path))
    for told, page in zip(reports, pages, strict=True):
        bars = [tag for tag in marks(page, "rates", "rect") if "bar " in tag]
        assert len(bars) == len(told.successes)
        widths = [measured(bar, "width") for bar in bars]
        assert widths[0] == max(widths) > 300
        intervals = [tag for tag in marks(page, "rates", "line") if 'class="interval"' in tag]
        assert len(intervals) == 3 * len(told.successes)
        assert len(marks(page, "rates", "path")) == sum(
            success.ceiling is not None for success in told.successes
        )
    lines = marks(pages[1], "lines", "polyline")
    assert len(lines) == 4
    assert all(tag.count(",") > 100 for tag in lines)
    assert len(marks(pages[2], "tiles", "rect")) > 100


def test_numbers_in_the_browser_are_those_of_the_report(
    reports: list[Report], tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(html.page(reports[0]), encoding="utf-8")
    page = opened(path)
    for success in reports[0].successes:
        assert f">{success.rate:.1%}</text>" in page
        assert f"{success.hits} of {success.tries} right" in page


def test_the_index_opens_and_links(reports: list[Report], tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(html.index(reports), encoding="utf-8")
    page = opened(path)
    assert re.findall(r'<a href="([^"]+)"', page) == [f"{told.name}.html" for told in reports]


def test_a_page_loads_nothing_from_elsewhere(reports: list[Report]) -> None:
    for told in reports:
        page = html.page(told)
        assert "http" not in page
        assert not re.search(r"<(script|link|img|iframe)|url\(|@import", page)
        assert "prefers-color-scheme: dark" in page
        assert "@media print" in page


def test_tags_are_balanced(reports: list[Report]) -> None:
    class Checked(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.stack: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta",):
                self.stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.stack.pop() == tag

    for page in (*(html.page(told, reports) for told in reports), html.index(reports)):
        checked = Checked()
        checked.feed(page)
        assert not checked.stack


def test_names_from_a_file_cannot_act(reports: list[Report]) -> None:
    hostile = "<script>alert(1)</script>\x1b]0;x\x07"
    act = replace(reports[0].acts[0], guess=hostile, inference=hostile)
    page = html.page(replace(reports[0], title=hostile, acts=(act,)))
    assert "<script>" not in page
    assert "\x1b" not in page
