"""The policy of a trial, and its rows as files to hand out."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpdb.errors import UsageError
from dpdb.policy.catalog import Column, Policy
from dpdb.policy.cell_format import PLAIN
from dpdb.policy.csv.csv_format import COMMA, UTF8, CsvFormat, separator_by_name
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
            columns=tuple(replace(column, cells=PLAIN) for column in table.columns),
        )
        for table in policy.tables
    )  # fmt: skip
    return replace(policy, tables=tables, lasting=None)


def trial_files(policy: Policy) -> Iterator[tuple[str, bytes]]:
    """The name and the content of a CSV file for each table, written as the policy declares."""
    rows = TrialRows(trial_policy(policy))
    for table in policy.tables:
        form, path = table.csv, table.path
        name = path.name if path.suffix.lower() in _CSV else f"{table.name}.csv"
        cells = {
            column.name: [
                _as_declared(cell, column, form) for cell in rows.cells(table.name)[column.name]
            ]
            for column in table.columns
        }
        text = io.StringIO()
        writer = csv.writer(
            text,
            delimiter=form.separator or separator_by_name(Path(name)) or COMMA,
            quotechar=form.quote or '"',
            lineterminator="\n",
        )
        if form.header:
            writer.writerow(cells)
        writer.writerows(zip(*cells.values(), strict=True))
        yield name, text.getvalue().encode(form.encoding or UTF8, "replace")


_CSV = (".csv", ".tsv", ".txt")


def _as_declared(cell: str | None, column: Column, form: CsvFormat) -> str:
    """A made-up cell in the format in which the policy says that the column is written."""
    if cell is None:
        return ""
    if column.kind.temporal:
        if not column.cells.formats:
            return cell
        moment = datetime.datetime.fromisoformat(cell).replace(tzinfo=datetime.UTC)
        return moment.strftime(column.cells.formats[0])
    if not column.kind.ordinal:
        return cell
    if column.cells.percent:
        cell = f"{float(cell) * 100:.9f}".rstrip("0").rstrip(".") + "%"
    return cell.replace(".", form.decimal)
