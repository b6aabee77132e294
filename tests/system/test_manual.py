"""The manual's pages are shown by every way in: `dpdb help`, `.help`, and the links of README."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.errors import UsageError
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.console.help import rendered
from dpdb.interfaces.console.scripts import LONGEST_FILE
from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS
from dpdb.plan.relations.stability import MAX_FAN_OUT, MAX_PAIRS
from dpdb.plan.releases.query_releases import MAX_GROUPS
from dpdb.plan.unit_work import MAX_UNIT_BYTES, MAX_UNIT_ROWS, MAX_UNIT_SECONDS
from dpdb.policy.storage import Storage
from dpdb.session.exact_values import MAX_PUBLIC_CELLS, MAX_PUBLIC_ROWS
from dpdb.session.purchases.purchases import MAX_AT_ONCE
from dpdb.session.purchases.query_plans import MAX_CANDIDATES
from dpdb.sql.from_clause.arrangement import MAX_PUBLIC_HELD
from dpdb.sql.from_clause.exact_answers import MAX_CELLS
from dpdb.sql.scalars.predicates import MAX_LIST, MAX_PATTERN
from dpdb.sql.scopes.scopes import MAX_OUTPUTS
from dpdb.sql.syntax.trees import MAX_EXPRESSIONS, MAX_SUBQUERIES, MAX_WILDCARDS
from dpdb.sql.text.tokens import (
    MAX_CHAIN,
    MAX_LENGTH,
    MAX_NESTING,
    MAX_SELECTS,
    MAX_TOKENS,
    MAX_TYPES,
    MAX_WAITING,
)
from tests.support.terminal import Terminal

PAPER = "sample_data/people.csv"


@dataclass(frozen=True)
class Help:
    """Runs `dpdb help`, and gives its exit code and what it wrote."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(["help", *words])
        return code, *self.capsys.readouterr()


@pytest.fixture
def dpdb_help(capsys: pytest.CaptureFixture[str]) -> Help:
    return Help(capsys)


@pytest.mark.parametrize("name", manual.PAGES)
def test_help_prints_the_page_that_readme_links(name: str, dpdb_help: Help) -> None:
    code, printed, _ = dpdb_help(name)
    assert printed.strip() == manual.page(name).strip()
    assert code == 0


def test_help_alone_lists_every_page_with_its_title(dpdb_help: Help) -> None:
    _, listed, _ = dpdb_help()
    for name in manual.PAGES:
        assert f"{name} " in listed
        assert manual.title(name) in listed


def test_no_page_is_left_out() -> None:
    written = {path.stem for path in Path(manual.__file__).parent.glob("*.md")}
    assert written == set(manual.PAGES)


def test_topic_is_a_section(dpdb_help: Help) -> None:
    _, section, _ = dpdb_help("intervals")
    assert section.startswith("## Intervals: what ± means\n")
    assert section.strip() in manual.page("accuracy")
    assert "## Options" not in section


@pytest.mark.parametrize("name", ["init", "lab", "risk", "help"])
def test_a_command_that_the_manual_has_no_page_on_tells_its_options(
    name: str, dpdb_help: Help
) -> None:
    code, printed, _ = dpdb_help(name)
    assert code == 0
    assert printed.startswith(f"usage: dpdb {name} ")


def test_topics_do_not_hide_each_other() -> None:
    sections = [s.topic for name in manual.PAGES for s in manual.sections(name)]
    assert len(sections) == len(set(sections))
    assert not set(sections) & set(manual.PAGES)


def test_unknown_topic_is_refused_with_a_hint(dpdb_help: Help) -> None:
    code, _, errors = dpdb_help("intervls")
    assert code == 2
    assert "did you mean intervals?" in errors
    with pytest.raises(UsageError):
        manual.topic("nothing of the kind")


def test_help_at_a_terminal_is_laid_out(tmp_path: Path) -> None:
    with Terminal("help", "intervals", home=tmp_path, columns=60) as terminal:
        screen = terminal.end()
    assert "## " not in screen
    assert "251 ± 30" in screen
    assert max(map(len, screen.split("\n"))) <= 60


def test_help_at_the_prompt_is_the_same_text(tmp_path: Path) -> None:
    with Terminal(PAPER, home=tmp_path, columns=80, lines=60) as terminal:
        terminal.wait(lambda t: t.cursor_line.startswith("dpdb>"))
        terminal.send(".help sensitivity\r")
        terminal.wait(lambda t: "The narrower they are" in "\n".join(t.lines))
        shown = "\n".join(terminal.lines)
        terminal.send("\x04")
    assert "the largest income in" in shown


def test_without_colour_there_are_no_escape_sequences() -> None:
    assert "\x1b" not in rendered(manual.page("sql"), 80, color=False)
    assert "\x1b" in rendered(manual.page("sql"), 80, color=True)


def test_sizes_in_the_manual_are_those_that_hold() -> None:
    limits = [
        *(MAX_LENGTH, MAX_TOKENS, MAX_NESTING, MAX_CHAIN, MAX_TYPES, MAX_WAITING),
        *(MAX_EXPRESSIONS, MAX_SELECTS, MAX_OUTPUTS, MAX_LIST, MAX_WILDCARDS),
        *(MAX_GROUPS, MAX_CANDIDATES, MAX_FAN_OUT, MAX_UNIT_ROWS),
        *(MAX_UNIT_BYTES // 10**6, int(MAX_UNIT_SECONDS * 1000)),
        *(MAX_AT_ONCE >> 20, MAX_PAIRS, MAX_PUBLIC_HELD),
        *(MAX_PUBLIC_ROWS, MAX_PUBLIC_CELLS, MAX_CELLS, LONGEST_FILE),
    ]
    assert MAX_PATTERN == MAX_LIST
    assert MAX_SUBQUERIES == MAX_SELECTS
    rows = [line for line in manual.topic("sizes").splitlines() if line.startswith("| ")]
    stated = [
        int(number.replace(",", "")) for row in rows for number in re.findall(r"[\d,]*\d", row)
    ]
    assert stated == limits


@pytest.mark.parametrize("name", [*AGGREGATES, *FUNCTIONS])
def test_every_function_is_a_topic(name: str) -> None:
    assert re.search(rf"\b{name}\b", manual.topic(name))


def test_every_storage_is_on_its_page() -> None:
    page = manual.page("sources")
    assert [each for each in Storage if each.value.label not in page] == [Storage.TRIAL]


def test_every_word_of_the_glossary_is_a_topic() -> None:
    words = re.findall(r"^\*\*(.+?)\*\*", manual.page("glossary"), flags=re.MULTILINE)
    assert words
    for word in words:
        assert manual.topic(word)


def test_every_word_of_the_glossary_is_on_another_page() -> None:
    others = " ".join(manual.page(name) for name in manual.PAGES if name != "glossary").casefold()
    words = re.findall(r"^\*\*(.+?)\*\*", manual.page("glossary"), flags=re.MULTILINE)
    alone = [
        word for word in words if not any(form.casefold() in others for form in word.split(", "))
    ]
    assert alone == []


def test_every_heading_is_found_by_its_words() -> None:
    for section in (section for name in manual.PAGES for section in manual.sections(name)):
        asked = section.title.partition(":")[2] or section.title
        if len(section.words) > 2:
            assert section.text in manual.topic(asked) or asked.lower() in manual.named()


@pytest.mark.parametrize(("topic", "shown"), [
    ("null", "NULL"), ("group by", "GROUP BY"), ("having", "HAVING"), ("join", "JOIN"),
    ("avg", "AVG"), ("MTA", "reliable from"), ("Bounds", "bounds"),
])  # fmt: skip
def test_topics_that_are_looked_up(topic: str, shown: str) -> None:
    assert shown in manual.topic(topic)


QUESTIONS = {
    "install": "start", "first number": "own-file", "na": "na", "12,50": "spreadsheets",
    "semicolons": "spreadsheets", "03/04/2024": "day-first", "dates": "day-first",
    "±": "intervals", "clamping": "clamping", "which bounds": "which-bounds",
    "only noise": "noisy-average", "smaller": "less-noise", "accurate": "foresee",
    "rows": "rows", "reset": "reset", "good": "good-epsilon", "how many queries": "how-many",
    "two analysts": "two-analysts", "used up": "used-up", "group by city": "by-city",
    "age bands": "bands", "negative": "negative", "group without rows": "empty-groups",
    "many rows": "many-rows", "join two tables": "two-tables", "top ten": "top-ten",
    "percent": "percent", "median of a small group": "few-rows", "export": "export",
    "dataframe": "export", "pandas": "pandas", "asking again": "ask-again", "publish": "publish",
    "duckdb": "duckdb", "avg": "noisy-average", "bounds": "which-bounds",
}  # fmt: skip
"""Words that people try, and the section that answers them, or the page."""


@pytest.mark.parametrize(("asked", "answer"), QUESTIONS.items())
def test_a_question_is_answered_at_first_try(asked: str, answer: str) -> None:
    """By the section itself, or by its name in the last line."""
    page = [section.text for section in manual.sections(answer)] if answer in manual.PAGES else []
    shown = manual.topic(asked)
    last = shown.splitlines()[-1]
    assert (
        shown == manual.topic(answer)
        or shown in page
        or answer in last.removeprefix("See also: ").split(", ")
    )


def test_a_word_of_the_text_shows_its_lines(dpdb_help: Help) -> None:
    code, shown, _ = dpdb_help("lag")
    assert code == 0
    assert shown.startswith("## Joins: several tables\n\n| form |")
    assert "- Windows over a unit's rows are" in shown


def test_a_topic_has_several_words(dpdb_help: Help) -> None:
    assert dpdb_help("group", "by")[1] == manual.topic("group by") + "\n"
