"""Each text that clients sent to PostgreSQL is answered, with PostgreSQL's labels, and is free."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg import pq

from tests.server.postgres.wired import Wired

FILES = sorted(Path(__file__).with_name("captured").glob("*.sql"))


def entries(file: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """What PostgreSQL answered to each statement of a file, and the statement."""
    for entry in re.split(r"(?m)^--- ", file.read_text(encoding="utf-8"))[1:]:
        told, text = entry.split("\n", 1)
        yield json.loads(told), re.sub(r"(?m)^-- .*\n", "", text).rstrip("\n")


def answered(connection: pq.PGconn, told: dict[str, Any], text: str) -> str | None:
    """What is wrong with the answer to a statement; None if nothing is."""
    values = [None if each is None else each.encode() for each in told.get("values", ())]
    if values:
        result = connection.exec_params(text.encode(), values, told.get("types"))
    else:
        result = connection.exec_(text.encode())
    if connection.transaction_status == pq.TransactionStatus.INERROR:
        connection.exec_(b"ROLLBACK")
    if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        return result.get_error_message()
    names = [(result.fname(n) or b"").decode() for n in range(result.nfields)]
    return None if names == (told["labels"] or []) else f"{names} for {told['labels']}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_client_sent_is_answered_with_the_same_labels(wired: Wired, file: Path) -> None:
    asked = len(wired.desk.executed())
    with wired.connect() as connection:
        connection.execute("SET client_min_messages = error")
        wrong = {
            text: problem
            for told, text in entries(file)
            if (problem := answered(connection.pgconn, told, text)) is not None
        }
    assert not wrong
    assert len(wired.desk.executed()) == asked
