"""Lines that a server would not send; `tests/sql/test_corpora.py` prints what it does send."""

from __future__ import annotations

import pytest

from dpdb.answers.wire import from_wire, to_wire
from dpdb.errors import UsageError
from dpdb.session.connect import connect


def test_what_a_program_reads_is_the_same() -> None:
    session = connect("sample_data/people.csv")
    answer = session.execute("SELECT zip, COUNT(*) FROM people GROUP BY zip")
    sent = from_wire(to_wire(answer))
    for name in ("rows", "intervals", "releases", "cost", "balance", "notes", "types", "told"):
        assert getattr(sent, name) == getattr(answer, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        "{}",
        '{"statement":"x"}',
        '{"statement":"x","columns":[],"cells":[],"balance":{"Plan":{}}}',
        '{"statement":"x","columns":[],"cells":[],"balance":{"Balance":{}},"plan":null}',
        '{"statement":"x","columns":[],"cells":[],"balance":{"/":"1/0"}}',
        "[" * 100_000,
    ],
)
def test_what_no_server_sends_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no answer of this version"):
        from_wire(text)
