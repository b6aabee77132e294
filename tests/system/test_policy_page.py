"""The manual's page on policies: its table lists the keys that the reader takes, and its policies
are read.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.policy.reading import column_reader, reader, table_reader
from dpdb.policy.reading.reader import read_policy
from tests.support.pages import code, table

READ = {
    "budget": reader.BUDGET_KEYS,
    "privacy": reader.PRIVACY_KEYS,
    "tables.T": table_reader.KEYS,
    "column": column_reader.KEYS,
}
LISTED = table(manual.page("policy"), "key", "section", "type", "default", "effect")
POLICIES = re.findall(r"```toml\n(.*?)```", manual.page("policy"), flags=re.DOTALL)


def test_the_table_lists_each_key_of_each_section_once() -> None:
    listed = [
        (section, key)
        for keys, sections, *_ in LISTED
        for section in sections.split(", ")
        for key in code(keys)
    ]
    assert sorted(listed) == sorted(
        (section, key) for section, keys in READ.items() for key in keys
    )


@pytest.mark.parametrize("key", sorted({key for keys in READ.values() for key in keys}))
def test_a_key_is_a_topic_of_help(key: str) -> None:
    assert f"`{key}`" in manual.topic(key) or key in manual.topics()


LINES = [
    line
    for name in manual.PAGES
    for block in re.findall(r"```toml\n(.*?)```", manual.page(name), flags=re.DOTALL)
    for line in re.findall(r"(?m)^\w+ += .*", block)
]


@pytest.mark.parametrize("line", sorted(set(LINES)))
def test_a_line_of_a_policy_is_one(line: str) -> None:
    """Its key is one that is read, or a column with keys that are read."""
    [(key, value)] = tomllib.loads(line).items()
    keys = set().union(*READ.values())
    assert key in keys or (isinstance(value, dict) and set(value) <= keys)


def test_the_first_policy_is_one(tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(POLICIES[0], encoding="utf-8")
    policy = read_policy(tmp_path / "people.toml")
    assert [column.name for column in policy.tables[0].columns] == [
        "age", "income", "zip", "born", "member", "name",
    ]  # fmt: skip


def test_the_policy_of_several_tables_is_one(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(POLICIES[-1], encoding="utf-8")
    policy = read_policy(tmp_path / "shop.toml")
    assert [each.name for each in policy.tables] == [
        "customers", "orders", "lines", "returns", "suppliers",
    ]  # fmt: skip
