"""The policy of a trial, and its rows as files to hand out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpdb.errors import UsageError
from dpdb.policy.catalog import Policy
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.trial.rows import TrialRows


def trial_policy(policy: Policy) -> Policy:
    """The policy with made-up rows in place of all data, and no lasting budget.

    Its tables know no file and no server. Raises UsageError where no policy declares the columns.
    """
    for table in policy.tables:
        if any(column.guessed for column in table.columns):
            raise UsageError(
                f"a trial needs a policy: nothing declares the columns of {table.name}",
                hint="dpdb init FILE.csv -o FILE.toml drafts a policy",
            )
    rows = TrialRows(policy)
    tables = tuple(
        replace(
            table, path=Path(table.name), also=(), server=None, frame=None, stored_as=None,
            engine=None, csv=CsvFormat(), made_up=rows,
        )
        for table in policy.tables
    )  # fmt: skip
    return replace(policy, tables=tables, lasting=None)


def trial_files(policy: Policy) -> Iterator[tuple[str, str]]:
    """The name and the text of a CSV file for each table of a policy."""
    for table in trial_policy(policy).tables:
        assert table.made_up is not None
        columns = table.made_up.cells(table.name)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        yield f"{table.name}.csv", text.getvalue()
