"""The HTML pages: complete in themselves, harmless, and with marks in their charts."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.lab.attack import StudentTask
from dpdb.lab.catalogue import find
from dpdb.lab.figures import ChartLine, Lines
from dpdb.lab.pages import html
from dpdb.lab.pages.report import Report, ReportLine, report_of
from dpdb.lab.trial import curve, run_trials

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EPSILONS = (0.1, 5.0)
NAMES = ["many-rows", "possible-worlds", "floating-point"]


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    """Bars only, bars and lines, bars and tiles."""
    attacks = [find(name) for name in NAMES]
    trials = [run_trials(attack, attack.defences(EPSILONS), 6, 1) for attack in attacks]
    points = [curve(attacks[0], trials[0].showings, 1), (), ()]
    return [report_of(each, line) for each, line in zip(trials, points, strict=True)]


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


@pytest.fixture(scope="module")
def pages(reports: list[Report]) -> list[str]:
    return [html.page(told, NAMES) for told in reports]


@pytest.fixture(scope="module")
def page_opened(pages: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the first report, as a browser understands it."""
    path = tmp_path_factory.mktemp("opened") / "page.html"
    path.write_text(pages[0], encoding="utf-8")
    return opened(path)


def charts(page: str) -> list[str]:
    """The drawings of a page, the success rates first."""
    return re.findall(r"<svg .*?</svg>", page, re.DOTALL)


def marks(chart: str, shape: str, kind: str) -> list[str]:
    """The tags of a shape and a class, within the axes: those of legends are not clipped."""
    tags = re.findall(rf"<{shape}\b[^>]*>", chart)
    return [tag for tag in tags if re.search(rf'class="[^"]*\b{kind}\b', tag)]


def bars(chart: str) -> list[float]:
    """How long the bars are, by their ends from the left."""
    tags = [tag for tag in marks(chart, "path", "fill-(s[0-4]|soft)") if "clip-path" in tag]
    lengths = []
    for tag in tags:
        across = [float(x) for x in re.findall(r"[ML]([\d.]+) ", tag)]
        lengths.append(max(across) - min(across))
    return lengths


def test_charts_have_marks(reports: list[Report], pages: list[str], page_opened: str) -> None:
    """Of one page in a browser, too: it understands the others no other way."""
    told_by = [*zip(reports, pages, strict=True), (reports[0], page_opened)]
    for told, page in told_by:
        rates, *others = charts(page)
        assert len(others) == len(told.figures)
        lengths = bars(rates)
        assert lengths[0] == max(lengths) > 150
        expected = [success.rate * lengths[0] for success in told.successes]
        assert sorted(lengths) == pytest.approx(sorted(expected), abs=0.3)
        # An interval has two caps.
        diamonds = [success for success in told.successes if success.ceiling is not None]
        caps = 2 * len(told.successes)
        assert len(marks(rates, "use", "stroke-ink")) == caps + len(diamonds)
    curves = [tag for tag in marks(charts(pages[1])[1], "path", "stroke-s[0-3]") if "clip" in tag]
    assert len(curves) == 4
    assert all(tag.count("L") > 50 for tag in curves)
    tiles = marks(charts(pages[2])[1], "path", "fill-(s0|s1|rule)")
    assert "".join(tiles).count("M") > 100


def test_numbers_in_the_browser_are_those_of_the_report(
    reports: list[Report], page_opened: str
) -> None:
    for success in reports[0].successes:
        assert f">{success.rate:.1%}</text>" in page_opened
        assert f"<td>{success.hits} of {success.tries}</td>" in page_opened


def test_the_index_links(reports: list[Report]) -> None:
    page = html.index(reports, "room.html")
    linked = ["room.html", *(f"{name}.html" for name in NAMES)]
    assert re.findall(r'<a href="([^"]+)"', page) == linked


def test_the_index_does_not_sell_a_large_epsilon_as_protection(reports: list[Report]) -> None:
    """At ε = 5 an attack that succeeds is marked, beside what ε allows and what ε means."""
    page = html.index(reports)
    assert manual.topic("meaning").split("\n\n")[1].strip() in page
    assert "99.3 % at ε = 5, which is as good as knowing" in page
    [many_rows, *_] = reports
    little, much = many_rows.successes[-2:]
    # Worked out: 1 - e^(-ε/2)/2 is 52 % at ε = 0.1 and 96 % at ε = 5; six runs are counted here.
    assert (little.epsilon, much.epsilon) == (0.1, 5.0)
    many_rows = replace(
        many_rows, successes=(replace(little, rate=0.52), replace(much, rate=0.96)), acts=()
    )
    page = html.index([many_rows])
    assert "<b>52%</b> <span" in page
    assert '<b>96% ✘</b> <span class="most">≤ 99%</span>' in page


def test_the_slider_shows_the_numbers_of_the_table(
    reports: list[Report], pages: list[str], page_opened: str
) -> None:
    told, page = reports[0], page_opened
    assert '<div class="play" hidden>' in pages[0]
    assert '<div class="play">' in page
    at_one = next(point for point in told.curve if point.epsilon == 1)
    # Twenty rows of his are found at ε = 1 with the chance 1 - e^(-1/2)/2.
    assert at_one.rate == pytest.approx(1 - math.exp(-1 / 2) / 2)
    assert f'<b class="rate">{at_one.rate:.1%}</b>' in page
    assert f'<div class="fill" style="width: {100 * at_one.rate:.1f}%;">' in page
    assert '<b class="ceiling">73.1%</b>' in page
    for point in told.curve:
        assert f"<tr><td>{point.epsilon:g}</td><td>{point.rate:.1%}</td>" in page
    # A page whose rates nobody has worked out has no slider.
    assert "slider" not in pages[1].partition("</style>")[2]


def test_a_page_loads_nothing_from_elsewhere(reports: list[Report], pages: list[str]) -> None:
    for told, page in zip(reports, pages, strict=True):
        assert "http" not in page
        assert not re.search(r"<(script |link|img|iframe)|url\((?!#)|@import|fetch|import\(", page)
        assert page.count("<script>") == bool(told.curve)
        assert "prefers-color-scheme: dark" in page
        assert "@media print" in page


def test_tags_are_balanced(reports: list[Report], pages: list[str]) -> None:
    class Checked(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.stack: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "input", "br"):
                self.stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.stack.pop() == tag

    for page in (*pages, html.index(reports)):
        checked = Checked()
        checked.feed(page)
        assert not checked.stack


def test_the_same_report_is_the_same_page(reports: list[Report], pages: list[str]) -> None:
    assert html.page(reports[0], NAMES) == pages[0]


def test_names_from_a_file_cannot_act(reports: list[Report]) -> None:
    """Whatever text of a report is hostile, a page shows it and does nothing with it."""
    hostile = "<script>alert('1')</script>\x1b]0;x\x07"
    shown = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\\x1b]0;x\\x07"
    told = reports[0]
    line = ReportLine(hostile, hostile, refused=True)
    texts = dict.fromkeys(("defence", "note", "inference", "guess", "truth"), hostile)
    acts = tuple(replace(act, lines=(line,), **texts) for act in told.acts[-1:])
    successes = tuple(replace(success, defence=hostile) for success in told.successes)
    figure = Lines(hostile, hostile, [ChartLine(hostile, [(0, 0), (1, 1)])])
    names = ("title", "source", "secret", "idea", "remedy", "version", "name", "notice", "honest")
    told = replace(
        told, acts=acts, successes=successes, figures=(figure,), tasks=(StudentTask(hostile, hostile),),
        **dict.fromkeys(names, hostile),
    )  # fmt: skip
    # Of the title: twice; of the name once, of a task twice, of an act 7 times; of a figure: its heading.
    for page, least in (
        (html.page(told), 2 + 7 + 2 + 7 + len(successes) + 1),
        (html.index([told]), 2),
    ):
        assert "<script>alert" not in page
        assert "\x1b" not in page
        assert page.count(shown) >= least
