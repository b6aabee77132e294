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

_FILE = "dpdb FILE.csv starts with another file: leave with .quit first"
_ONE_FILE = "dpdb FILE FILE starts with several files; .quit leaves"
_ROWS = "single rows are never shown; .schema shows what is declared"
_READ_ONLY = "tables are only read; .once FILE writes the next answer to a file"
_PROGRAMS = "dpdb runs no other programs: open another terminal"
_FOLDER = "files are named from the folder that dpdb was started in"
_CONSTANTS = "write the constants into the statement"
_HEADER = "answers always have a header; .mode csv is the plainest"
_NOISE = "EXPLAIN SELECT … shows the noise and the cost"
_LIBRARY = ".help functions lists what can be called"

ANSWERS = {
    ".headers": _HEADER, ".header": _HEADER, "\\t": _HEADER,
    "\\a": ".mode csv is the plainest, .mode vertical has a line for each column",
    "\\H": ".mode markdown is the nearest",
    "\\f": ".mode csv separates by commas", ".separator": ".mode csv separates by commas",
    "\\pset": ".mode csv, json, markdown, box or vertical",
    ".nullvalue": "a missing value is NULL, and empty in .mode csv",
    ".width": "columns are as wide as their cells; .mode vertical has a line for each column",
    ".maxwidth": "columns are as wide as their cells; .mode vertical has a line for each column",
    ".columns": ".mode vertical has a line for each column",
    ".rows": ".mode table has a line for each row",
    ".maxrows": "all rows of an answer are shown; LIMIT n leaves the first n",
    ".crosstabview": "COUNT(*) FILTER (WHERE …) makes a column for each condition",
    "\\crosstabview": "COUNT(*) FILTER (WHERE …) makes a column for each condition",
    ".open": _FILE, "\\c": _FILE, "\\connect": _FILE, "use": _FILE, "\\u": _FILE,
    ".import": _ONE_FILE, ".load": _ONE_FILE, ".restore": _ONE_FILE, ".attach": _ONE_FILE,
    "\\copy": _READ_ONLY, ".save": _READ_ONLY, ".backup": _READ_ONLY, ".clone": _READ_ONLY,
    ".dump": _ROWS, ".sha3sum": _ROWS, ".recover": _ROWS,
    ".indexes": ".schema shows what is declared; there are no indexes",
    ".indices": ".schema shows what is declared; there are no indexes",
    "\\di": ".schema shows what is declared; there are no indexes",
    "\\df": _LIBRARY, "\\da": _LIBRARY, "\\do": _LIBRARY, "\\sf": _LIBRARY,
    "\\du": "dpdb budget show POLICY lists analysts, for the data owner",
    "\\password": "dpdb has no passwords; --analyst NAME says who asks",
    ".budget": "SHOW BUDGET; says what is left",
    "\\conninfo": "SHOW BUDGET; says what is left",
    ".stats": "SHOW BUDGET; says what is left", ".limit": "SHOW BUDGET; says what is left",
    ".changes": "SHOW BUDGET; says what is left",
    ".explain": _NOISE, ".eqp": _NOISE, ".scanstats": _NOISE, ".trace": _NOISE,
    ".timing": ".timer on shows how long an answer took",
    ".shell": _PROGRAMS, ".system": _PROGRAMS, "\\!": _PROGRAMS, "system": _PROGRAMS,
    ".cd": _FOLDER, "\\cd": _FOLDER,
    "\\set": _CONSTANTS, "\\unset": _CONSTANTS, ".parameter": _CONSTANTS, "\\prompt": _CONSTANTS,
    ".echo": "a comment begins with --", ".print": "a comment begins with --",
    "\\echo": "a comment begins with --", "\\qecho": "a comment begins with --",
    ".log": ".output FILE writes answers to a file",
    ".bail": "dpdb --on-error continue goes on after a failure",
    ".prompt": "the prompt is always dpdb>", "\\R": "the prompt is always dpdb>",
    ".highlight": ".color off turns colours off", ".multiline": "a statement ends with ;",
    ".singleline": "a statement ends with ;", "\\g": "a statement ends with ;",
    "\\gx": "\\x shows a line for each column; a statement ends with ;",
    "\\G": "\\x shows a line for each column; a statement ends with ;",
    "pager": ".pager on shows long answers in $PAGER",
    "\\watch": "a repeated statement is free, and has the same answer",
    "watch": "a repeated statement is free, and has the same answer",
    "\\p": ".history shows what was typed", "\\fs": ".history shows what was typed",
    "\\r": "Ctrl-C drops what is typed", "clear": "Ctrl-L clears the screen",
    "cls": "Ctrl-L clears the screen", "\\encoding": "everything is UTF-8",
}  # fmt: skip
"""Commands of other shells without a counterpart, and what to do or type instead."""

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
