"""The questions of the manual: short answers, each of whose queries is one that dpdb answers."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

import dpdb
from dpdb import manual
from tests.support.shell_lines import ROOT

SECTIONS = {section.topic: section for section in manual.sections("howto")}
QUERIES = [
    (topic, query.strip())
    for topic, section in SECTIONS.items()
    for block in re.findall(r"```sql\n(.*?)```", section.text, flags=re.DOTALL)
    for query in block.split(";\n")
    if query.strip()
]


def test_the_page_lists_its_questions() -> None:
    listed = re.findall(
        r"(?m)^- (?:Files|Accuracy|Queries|Budget|Results): (.*)$", manual.page("howto")
    )
    assert {word.strip("`") for line in listed for word in line.split()} == set(SECTIONS)


@pytest.mark.parametrize("topic", SECTIONS)
def test_an_answer_is_short(topic: str) -> None:
    text = SECTIONS[topic].text.partition("\nRead next: ")[0].strip()
    assert "?" in SECTIONS[topic].title
    assert len(text.splitlines()) <= 15


@pytest.mark.parametrize(("topic", "query"), QUERIES, ids=[query[:50] for _, query in QUERIES])
def test_a_query_is_answered(topic: str, query: str) -> None:
    data = "people.csv" if "FROM people" in query or query.startswith("SET") else "shop/shop.toml"
    dpdb.connect(ROOT / "sample_data" / data).execute(query)


def test_the_extras_are_there() -> None:
    project = tomllib.loads((Path(ROOT) / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [extras] = re.findall(r'-e "\.\[(.*?)\]"', SECTIONS["extras"].text)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_how_accurate_a_count_of_so_many_queries_is() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in SECTIONS["how-many"].text.splitlines()
        if re.match(r"\| (queries|pure|`)", line)
    ]
    (_, *numbers), (_, *pure), (_, *zcdp) = rows
    for number, *stated in zip(numbers, pure, zcdp, strict=True):
        for options, said in zip(
            ({}, {"composition": "zcdp", "delta": "1e-6"}), stated, strict=True
        ):
            session = dpdb.connect(ROOT / "sample_data/people.csv", queries=int(number), **options)
            answer = session.execute("SELECT COUNT(*) FROM people")
            [[interval]] = answer.intervals
            assert interval is not None
            low, high = interval
            assert low is not None
            assert high is not None
            assert Fraction(high - low) / 2 == int(said)
