"""Attacks 25 and 26: statements that are not on the list, and outputs that something would act on."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import StatementError, printable
from dpdb.interfaces.cli import main as cli
from dpdb.interfaces.cli.parsers import SUBCOMMANDS
from dpdb.session.session import Session
from dpdb.sql.text.splitting import split
from tests.support.known_attacks import ROWS, people, rich
from tests.support.noiseless import Noiseless

INJECTIONS = [
    line
    for line in Path(__file__).with_name("injections.sql").read_text(encoding="utf-8").splitlines()
    if not line.startswith("--")
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_a25_what_is_not_on_the_list_is_refused(tmp_path, text, monkeypatch):
    """Raw aggregates, file functions and statements that another engine would run."""
    monkeypatch.chdir(tmp_path)
    session = Session(people(tmp_path))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StatementError):
        session.execute(text)
    assert session._loaded_engine is None
    assert session.execute("SHOW BUDGET").balance.queries_left == 10
    assert sorted(tmp_path.iterdir()) == before


def test_a25_strings_end_where_the_parser_says(tmp_path):
    """`\\'` is an end of string to one lexer and not to another: between them a row leaks."""
    session = Session(rich(people(tmp_path)), noise=Noiseless())
    text = r"SELECT COUNT(*) FROM t WHERE name = '\' OR 1 = 1 --'"
    [piece] = split(text)
    assert session.execute(piece.text).rows == ((30,),)
    text = r"SELECT COUNT(*) FROM t WHERE name = '\'; SHOW BUDGET; SELECT '"
    assert [piece.text for piece in split(text)][1:] == ["SHOW BUDGET", "SELECT '"]
    for name in [
        "a;b",
        "it''s",
        "--",
        "/*",
        "*/",
        '"',
        "\\",
        "\\\\''",
        "{{x}}",
        "{# #}",
        "%(x)s",
        "?",
    ]:
        [piece] = split(f"SELECT COUNT(*) FROM t WHERE name = '{name}'")
        assert session.execute(piece.text).rows == ((0,),), name


def test_a26_nothing_printed_moves_the_cursor_or_computes(tmp_path, capsys):
    """Escape sequences in headers, formulas in cells."""
    header = 'id,"\x1b]0;x\x07",age,pay,"\x9bc",smoker,"\u202eevil"\n'
    (tmp_path / "odd.csv").write_text(header + "\n".join(ROWS), encoding="utf-8")
    statements = (
        'DESCRIBE odd; SELECT COUNT("\x1b]0;x\x07") FROM odd; SELECT COUNT("\x9bc") AS "=1+1" FROM odd;'
        ' SELECT COUNT(*) AS "\x1b[2J", COUNT(*) AS "\u202e", COUNT(*) AS "@x" FROM odd;'
        ' SELECT "\x1b[31m" FROM odd; SELECT COUNT(\x1b[31m) FROM odd; SELECT COUNT(nobody) FROM odd'
    )
    for form in FORMATS:
        cli.main([str(tmp_path / "odd.csv"), "--format", form, "--on-error", "continue",
                  "-c", statements])  # fmt: skip
        shown = capsys.readouterr()
        for character in "\x1b\x07\x9b\u202e":
            assert character not in shown.out + shown.err, form
        if form == "csv":
            cells = [cell for row in csv.reader(io.StringIO(shown.out)) for cell in row]
            assert not any(cell.startswith(("=", "@", "+")) for cell in cells)
    people(tmp_path)
    query = "SELECT city, COUNT(*) FROM t GROUP BY city"
    cli.main([str(tmp_path / "t.csv"), "--csv", "-c", query])
    assert "'=cmd()," in capsys.readouterr().out


NEEDED = {"init": "x", "check": "x", "prepare": "x -o y", "budget": "show x", "risk": "x --query y",
          "completion": "bash", "trial": "x -o y", "serve": "x", "user": "list x"}  # fmt: skip
"""The words without which a subcommand looks at no others."""


@pytest.mark.parametrize("command", ["", *SUBCOMMANDS, "lab room", "lab audit"])
def test_a26_words_of_the_command_line_move_no_cursor(command, capsys):
    """They may be names of files, as in `dpdb lab audit *`."""
    hostile = "--\x1b]0;x\x07\x9b2J\u202e"
    with pytest.raises(SystemExit):
        cli.main([*command.split(), *NEEDED.get(command, "").split(), hostile])
    printed = capsys.readouterr()
    shown = printed.out + printed.err
    assert printable(hostile) in shown
    assert not any(character in shown for character in "\x1b\x07\x9b\u202e")


def test_a26_the_name_of_a_page_moves_no_cursor(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = "\x1b]0;x\x07\x9b2J\u202e.html"
    assert cli.main(["lab", "room", "0101010101", "--html", page]) == 0
    assert Path(page).exists()
    assert capsys.readouterr().err == f"wrote {printable(page)}\n"


def test_a26_json_of_a_custodian_s_study_moves_no_cursor(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("\x9bage\n1\n2\n3\n4\n", encoding="utf-8")
    query = 'SELECT COUNT("\x9bage") FROM t'
    assert cli.main(["risk", str(path), "--json", "--epsilon", "1", "--query", query]) == 0
    printed = capsys.readouterr().out
    assert "\x9b" not in printed
    assert query in json.loads(printed).values()


def test_a26_markdown_shows_what_was_meant(tmp_path, capsys):
    """No tag, link or code comes of a text, as CommonMark is rendered."""
    people(tmp_path)
    labels = ["<script>alert(1)</script>", "[a](http://b)", "![a](b)", "`a|b`", "a\\\\|b", "&lt;b"]
    columns = ", ".join(f'COUNT(*) AS "{label}"' for label in labels)
    cli.main([str(tmp_path / "t.csv"), "--format", "markdown", "-c", f"SELECT {columns} FROM t"])
    page = MarkdownIt("commonmark").enable("table").render(capsys.readouterr().out)
    heads = re.findall("<th[^>]*>(.*?)</th>", page)
    assert [html.unescape(head) for head in heads] == labels
    assert not any("<" in head for head in heads)


def test_a26_json_says_what_was_meant(tmp_path, capsys):
    """Escaping must not turn one character into two others."""
    people(tmp_path)
    label = "a\x9b\u202e\U000e0041\U0010ffff\U0001f600\x7f"
    cli.main([str(tmp_path / "t.csv"), "--json", "-c", f'SELECT COUNT(*) AS "{label}" FROM t'])
    assert json.loads(capsys.readouterr().out)["columns"] == [label]
