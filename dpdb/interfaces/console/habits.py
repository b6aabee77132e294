"""Habits from psql, sqlite3, DuckDB, litecli and MySQL: the command that each stands for here."""

from __future__ import annotations

TOGGLE = "toggle"
"""The argument that toggles a setting: `.timer toggle` turns `.timer` on or off."""

LINES = {
    "help": ".help", "?": ".help", "\\h": ".help", ".show": ".help settings", ".version": ".help",
    "quit": ".quit", "exit": ".quit", "quit()": ".quit", "exit()": ".quit", ":q": ".quit",
    "history": ".history", "nopager": ".pager off", "notee": ".output",
    "\\d": ".tables", "\\x on": ".mode vertical", "\\x off": ".mode table",
    "\\x auto": ".mode table",
}  # fmt: skip
"""Whole lines, and the line that each stands for."""

NAMES = {
    ".exit": ".quit", "\\q": ".quit", "\\?": ".help", "\\h": ".help",
    "\\d": ".schema", "\\d+": ".schema", ".fullschema": ".schema", ".describe": ".schema",
    "\\dt": ".tables", "\\dt+": ".tables", "\\l": ".tables", "\\dn": ".tables", "\\dv": ".tables",
    ".databases": ".tables", "\\z": ".tables", "\\dp": ".tables",
    "\\i": ".read", "\\ir": ".read", "\\.": ".read", "source": ".read",
    "\\o": ".output", "tee": ".output", "\\once": ".once", "\\w": ".once", ".excel": ".once",
    "\\x": f".mode {TOGGLE}", "\\T": ".mode", "\\pset format": ".mode",
    "\\timing": f".timer {TOGGLE}", "\\s": ".history", "\\e": ".edit",
    "\\pset pager": ".pager", "\\P": ".pager", "\\n": ".pager off",
}  # fmt: skip
"""Names of commands, some with their first argument, and the command that each stands for."""

_INSTEAD = {
    "answers always have a header; .mode csv is the plainest": ".headers .header \\t",
    ".mode csv is the plainest, .mode vertical has a line for each column": "\\a",
    ".mode markdown is the nearest": "\\H",
    ".mode csv separates by commas": "\\f .separator",
    ".mode csv, json, markdown, box or vertical": "\\pset",
    "a missing value is NULL, and empty in .mode csv": ".nullvalue",
    "columns are as wide as their cells; .mode vertical has a line for each column":
        ".width .maxwidth",
    ".mode vertical has a line for each column": ".columns",
    ".mode table has a line for each row": ".rows",
    "all rows of an answer are shown; LIMIT n leaves the first n": ".maxrows",
    "COUNT(*) FILTER (WHERE …) makes a column for each condition": ".crosstabview \\crosstabview",
    "dpdb FILE.csv starts with another file: leave with .quit first": ".open \\c \\connect use \\u",
    "dpdb FILE FILE starts with several files; .quit leaves": ".import .load .restore .attach",
    "tables are only read; .once FILE writes the next answer to a file":
        "\\copy .save .backup .clone",
    "single rows are never shown; .schema shows what is declared": ".dump .sha3sum .recover",
    ".schema shows what is declared; there are no indexes": ".indexes .indices \\di",
    ".help functions lists what can be called": "\\df \\da \\do \\sf",
    "dpdb budget show POLICY lists analysts, for the data owner": "\\du",
    "dpdb has no passwords; --analyst NAME says who asks": "\\password",
    "SHOW BUDGET; says what is left": ".budget \\conninfo .stats .limit .changes",
    "EXPLAIN SELECT … shows the noise and the cost": ".explain .eqp .scanstats .trace",
    ".timer on shows how long an answer took": ".timing",
    "dpdb runs no other programs: open another terminal": ".shell .system \\! system",
    "files are named from the folder that dpdb was started in": ".cd \\cd",
    "write the constants into the statement": "\\set \\unset .parameter \\prompt",
    "a comment begins with --": ".echo .print \\echo \\qecho",
    ".output FILE writes answers to a file": ".log",
    "dpdb --on-error continue goes on after a failure": ".bail",
    "the prompt is always dpdb>": ".prompt \\R",
    ".color off turns colours off": ".highlight",
    "a statement ends with ;": ".multiline .singleline \\g",
    "\\x shows a line for each column; a statement ends with ;": "\\gx \\G",
    ".pager on shows long answers in $PAGER": "pager",
    "a repeated statement is free, and has the same answer": "\\watch watch",
    ".history shows what was typed": "\\p \\fs",
    "Ctrl-C drops what is typed": "\\r",
    "Ctrl-L clears the screen": "clear cls",
    "everything is UTF-8": "\\encoding",
}  # fmt: skip
"""The answers to commands of other shells that have no counterpart, each with the commands."""
ANSWERS = {name: text for text, names in _INSTEAD.items() for name in names.split()}
"""The answer to each of these commands: what to do or type instead."""

SETTLED = {
    ".headers on": "answers always have a header",
    ".header on": "answers always have a header",
    ".echo off": "statements are not repeated",
    ".bail on": "a file of statements ends at its first failure",
    ".stats off": "there are no statistics",
    ".changes off": "nothing is changed",
    ".log off": "there is no log",
    ".eqp off": "plans are shown by EXPLAIN alone",
    ".explain off": "plans are shown by EXPLAIN alone",
    ".multiline": "statements can have several lines",
}
"""Commands that ask for what is always so, and what is told about that."""

MODES = {
    "line": "vertical", "expanded": "vertical",
    "column": "table", "columns": "table", "aligned": "table", "ascii": "table", "psql": "table",
    "duckbox": "box", "fancy_grid": "box",
    "list": "csv", "tabs": "csv", "quote": "csv", "unaligned": "csv",
    "jsonlines": "json", "md": "markdown", "github": "markdown",
}  # fmt: skip
"""Modes of other shells, and the one here that is nearest."""


def command_of(line: str, *, typed: bool) -> tuple[str, str] | None:
    """The name and the argument of the command in a line; None if the line is no command.

    The name is that of the counterpart here, if there is one. In a file, which may be one of data,
    words without a dot are no commands, but for help, quit and exit.
    """
    written = line.strip().rstrip("; ")
    marked = written.startswith((".", "\\"))
    if not (typed or marked or written.lower() in ("help", "quit", "exit")):
        return None
    written = LINES.get(written if marked else written.lower(), written)
    name, _, argument = written.partition(" ")
    name, argument = name if name.startswith("\\") else name.lower(), argument.strip()
    if not (marked or name.startswith(".") or name in ANSWERS or (name in NAMES and argument)):
        return None
    first, _, rest = argument.partition(" ")
    known = NAMES.get(f"{name} {first}")
    target, given = (NAMES.get(name, name), argument) if known is None else (known, rest.strip())
    target, _, usual = target.partition(" ")
    return target, given or usual
