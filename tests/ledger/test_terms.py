"""The terms of a ledger say all that a policy says, and those of older ledgers still hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpdb.ledger.terms import check_session, described, tables_in
from dpdb.policy.catalog import Policy
from dpdb.policy.reader import read_policy
from tests.policy.test_several_tables import SHOP
from tests.support.plans import PRIVATE

LATER = ("chain", "public", "key", "at_most", "groups_per_unit")
"""What older ledgers do not say of a table."""


def written(policy: Policy) -> Any:
    return json.loads(json.dumps(described(policy)))


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    policy = read_policy(tmp_path / "shop.toml")
    assert tables_in(written(policy)) == tuple(replace(t, path=Path()) for t in policy.tables)


def test_ledgers_from_before_there_were_several_tables() -> None:
    terms = written(PRIVATE)
    del terms["unit"]
    for table in terms["tables"].values():
        for key in LATER:
            del table[key]
        for column in table["columns"].values():
            del column["references"], column["values_from"]
    check_session(terms, PRIVATE)
    assert tables_in(terms) == tuple(replace(t, path=Path()) for t in PRIVATE.tables)
