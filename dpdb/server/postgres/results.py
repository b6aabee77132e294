"""Results of statements, and errors, as a client of PostgreSQL is told of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import TRIAL, footer
from dpdb.answers.formats.render import FORMATS, first_rows
from dpdb.answers.formats.sheet import ENDS, sheet, sheet_kinds
from dpdb.answers.record import Cell, Origin
from dpdb.errors import DpdbError
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.protocol import Refusal, data_row, message, report
from dpdb.server.postgres.values import cell

Column = tuple[str, Kind]
_CONDITIONS = {
    "SyntaxFault": "42601",
    "UnknownName": "42703",
    "Unsupported": "0A000",
    "TypeMismatch": "42804",
    "MissingBounds": "22023",
    "TooLarge": "54000",
    "InvalidOption": "22023",
    "UsageError": "22023",
    "BudgetExceeded": "53400",
    "Busy": "53300",
    "OutOfResources": "53000",
    "InternalError": "XX000",
    "LedgerError": "58000",
    "DataFileError": "58000",
    "PolicyError": "58000",
    "ServerError": "08006",
}
"""The SQLSTATE of each kind of error ("PostgreSQL Error Codes" of its manual)."""
_UNKNOWN = {"no table": "42P01", "no function": "42883", "no setting": "42704"}
"""The SQLSTATE of names that are no column's, by how the message begins."""


@dataclass(frozen=True)
class Copied:
    """An answer as COPY sends it: in the format TEXT, CSV or BINARY."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    form: str
    header: bool
    """Whether the first line has the labels."""

    def messages(self) -> list[bytes]:
        """The messages of the whole copy ("COPY" of PostgreSQL's manual); raises BadValue."""
        binary = self.form == "BINARY"
        kinds = [kind for _, kind in self.columns]
        formats = struct.pack("!bh", binary, len(kinds)) + struct.pack("!h", binary) * len(kinds)
        rows = [
            [cell(each, kind, binary=binary) for each, kind in zip(row, kinds, strict=True)]
            for row in self.rows
        ]
        labels: list[bytes | None] = [name.encode(errors="replace") for name, _ in self.columns]
        if binary:
            first, *rest = [*(data_row(row)[5:] for row in rows), struct.pack("!h", -1)]
            parts = [_SIGNATURE + first, *rest]  # clients expect them in one message
        else:
            lines = [labels, *rows] if self.header else rows
            written = _csv if self.form == "CSV" else _tabbed
            between = b"," if self.form == "CSV" else b"\t"
            parts = [between.join(written(each) for each in line) + b"\n" for line in lines]
        return [
            message(b"H", formats), *(message(b"d", part) for part in parts),
            message(b"c"),
        ]  # fmt: skip


_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_ESCAPES = {b"\\": b"\\\\", b"\t": b"\\t", b"\n": b"\\n", b"\r": b"\\r"}


def _tabbed(value: bytes | None) -> bytes:
    """A value in the format TEXT."""
    if value is None:
        return b"\\N"
    for character, escape in _ESCAPES.items():
        value = value.replace(character, escape)
    return value


def _csv(value: bytes | None) -> bytes:
    """A value in the format CSV: an empty text stands in quotes, NULL is empty."""
    if value is None:
        return b""
    plain = value and value != b"\\." and not {*b',"\n\r'} & {*value}
    return value if plain else b'"' + value.replace(b'"', b'""') + b'"'


@dataclass(frozen=True)
class Result:
    """The result of a statement; `columns` is None where the statement has no rows."""

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Sequence[Sequence[Cell]] = ()
    notice: tuple[str, str] | None = None
    """A message for people, and its detail."""
    copied: Copied | None = None
    """The answer that COPY sends, in place of rows."""


def result_of(answer: Answer, *, intervals: bool) -> Result:
    """An answer of the desk, with the ends of intervals in columns if these are asked for."""
    if answer.explain:
        lines = FORMATS["table"](answer).splitlines()
        return Result("EXPLAIN", (("QUERY PLAN", Kind.TEXT),), [(line,) for line in lines])
    header, shown = sheet(answer, intervals=intervals)
    kinds = sheet_kinds(answer, shown, intervals=intervals)
    columns = tuple(zip(header, kinds, strict=True))
    rows: list[tuple[Cell, ...]] = list(zip(*(column.cells for column in shown), strict=True))
    if answer.trial:
        columns = (("trial", Kind.BOOLEAN), *columns)
        rows = [(True, *row) for row in rows]
    told = None
    if answer.query:
        noisy = Origin.NOISY in answer.origins
        message = first_rows(answer) if noisy else "no noise"
        told = TRIAL if answer.trial else message, footer(answer).strip()
    return Result(f"SELECT {len(rows)}", columns, rows, told)


def promised(plan: Answer, *, intervals: bool) -> tuple[Column, ...]:
    """The columns that `result_of` has for the answer to the statement of an EXPLAIN."""
    origins = plan.origins or (Origin.KEY,) * len(plan.columns)
    columns = [("trial", Kind.BOOLEAN)] if plan.trial else []
    for name, kind, origin in zip(plan.columns, plan.kinds, origins, strict=True):
        ends = ENDS if intervals and origin is not Origin.KEY else ()
        columns += [(name, kind), *((name + end, kind) for end in ends)]
    return tuple(columns)


def notice(message: str, detail: str = "") -> bytes:
    """A notice."""
    fields = {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": message, "D": detail}
    return report(b"N", fields)


def failure(
    error: Refusal | DpdbError, position: int | None = None, *, fatal: bool = False
) -> bytes:
    """An error; `position` counts the characters of the text that the client has sent from 1."""
    severity = "FATAL" if fatal else "ERROR"
    state = error.state if isinstance(error, Refusal) else state_of(error)
    fields = {"S": severity, "V": severity, "C": state, "M": error.message, "H": error.hint}
    if isinstance(error, Refusal):
        fields["D"] = error.detail
    return report(b"E", fields | {"P": None if position is None else str(position)})


def state_of(error: DpdbError) -> str:
    """The SQLSTATE of an error."""
    if error.kind == "UnknownName":
        for beginning, state in _UNKNOWN.items():
            if error.message.startswith(beginning):
                return state
    return _CONDITIONS.get(error.kind, "XX000")
