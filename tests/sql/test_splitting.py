"""Where one statement ends and the next begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from dpdb.errors import Place, SyntaxFault
from dpdb.sql.text.dialect import tokenize
from dpdb.sql.text.splitting import Piece, split
from dpdb.sql.text.tokens import read_tokens
from tests.support.texts import CHARACTERS


def texts(text: str) -> list[str]:
    return [piece.text for piece in split(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        (" \n\t ", []),
        (";", []),
        (" ; ;; \n;", []),
        ("a", ["a"]),
        ("a;", ["a"]),
        ("a;b", ["a", "b"]),
        ("  a  ;\n b \n;", ["a", "b"]),
        ("a;;b", ["a", "b"]),
        # Strings and quoted names
        ("a ';' b; c", ["a ';' b", "c"]),
        ("a 'it''s; so' b; c", ["a 'it''s; so' b", "c"]),
        ("a '';' b; c", ["a ''", "' b; c"]),
        ("a '';b", ["a ''", "b"]),
        ('a ";" b; c', ['a ";" b', "c"]),
        ('a "x"";" b; c', ['a "x"";" b', "c"]),
        ("a '\"' ; b '\"'", ["a '\"'", "b '\"'"]),
        ('a "\'" ; b "\'"', ['a "\'"', 'b "\'"']),
        ("a '\n;\n' b; c", ["a '\n;\n' b", "c"]),
        # A backslash is no escape: the string ends at the next quote
        (r"a '\'; b", [r"a '\'", "b"]),
        (r"a '\' OR 1=1 --'; b", [r"a '\' OR 1=1 --'; b"]),
        # Comments
        ("a -- x; y\nb; c", ["a -- x; y\nb", "c"]),
        ("a -- it's\nb; c", ["a -- it's\nb", "c"]),
        ("a --", ["a --"]),
        ("a - - ;b", ["a - -", "b"]),
        ("a /* ; */ b; c", ["a /* ; */ b", "c"]),
        ("a /* it's; */ b; c", ["a /* it's; */ b", "c"]),
        ("a /* ; /* ; */ ; */ b; c", ["a /* ; /* ; */ ; */ b", "c"]),
        ("a /* -- */ ; b", ["a /* -- */", "b"]),
        ("a -- /*\n; b", ["a -- /*", "b"]),
        ("a '/*' ; b '*/'", ["a '/*'", "b '*/'"]),
        ("a '--' ; b", ["a '--'", "b"]),
        ("a / * ; b", ["a / *", "b"]),
        ("a */ ; b", ["a */", "b"]),
        # Comments before a statement are not part of it
        ("-- hello\na", ["a"]),
        ("-- one\n-- two\n\n a", ["a"]),
        ("/* x */ a", ["a"]),
        ("/* x /* y */ z */ -- w\n /**/ a", ["a"]),
        ("a; -- then\nb", ["a", "b"]),
        ("-- nothing; at all", []),
        ("/* nothing; */ ;", []),
        ("a; -- nothing", ["a"]),
        ("a; /* nothing */", ["a"]),
        # What never ends goes on to the end
        ("a 'x; b", ["a 'x; b"]),
        ('a "x; b', ['a "x; b']),
        ("a /* x; b", ["a /* x; b"]),
        ("a /* /* x */ ; b", ["a /* /* x */ ; b"]),
        ("/* x; b", ["/* x; b"]),
        ("a; /* x; /* y */ b", ["a", "/* x; /* y */ b"]),
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    assert texts(text) == pieces


@pytest.mark.parametrize(
    ("text", "complete"),
    [("a;", True), ("a", False), ("a -- x", False), ("a 'x;", False), ("a /* ;", False)],
)
def test_whether_a_semicolon_ended_it(text: str, complete: bool) -> None:
    assert list(split(text)) == [Piece(texts(text)[0], complete)]


def test_all_but_the_last_are_complete() -> None:
    assert [piece.complete for piece in split("a; b; c")] == [True, True, False]


def test_a_carriage_return_ends_a_comment() -> None:
    # As for the parser: they have to agree on what is a comment.
    assert texts("a -- it's\r; b") == ["a -- it's", "b"]
    assert texts("a -- x\r\n; b") == ["a -- x", "b"]


def test_it_is_lazy() -> None:
    pieces = split("a; b; c 'never closed")
    assert next(pieces).text == "a"


# Pieces that no cut can fall into: in whatever order, they stay as they are.
_WORDS = st.text("ab1_ .,()*=<>-+/\n\t", max_size=6).filter(
    lambda text: "--" not in text and "/*" not in text
)
_BODIES = st.text("ab ;'\"-/*\n\\", max_size=12)
_STRINGS = _BODIES.map(lambda text: "'" + text.replace("'", "''") + "'")
_NAMES = _BODIES.map(lambda text: '"' + text.replace('"', '""') + '"')
_LINES = _BODIES.map(lambda text: "--" + text.replace("\n", "") + "\n")
_BLOCKS = _BODIES.map(lambda text: "/* " + text.replace("*", "").replace("/", "") + " */")
_NESTED = _BLOCKS.map(lambda inner: f"/* {inner} ; */")
# Separated by spaces, so that no two make a quote or a comment together.
_STATEMENTS = st.lists(
    _WORDS | _STRINGS | _NAMES | _LINES | _BLOCKS | _NESTED, min_size=1, max_size=8
).map(lambda parts: "x " + " ".join(parts) + " y")


@given(st.lists(_STATEMENTS, max_size=5))
def test_joining_undoes_splitting(statements: list[str]) -> None:
    assert texts(";".join(statements)) == statements
    assert texts(" ;\n; ".join(statements) + ";") == statements


@given(st.lists(_LINES | _BLOCKS | _NESTED | st.sampled_from([" ", "\n", ";"]), max_size=8))
def test_comments_alone_are_no_statement(parts: list[str]) -> None:
    assert texts(" ".join(parts)) == []


@given(st.text("ab;'\"-/*\n\r \\", max_size=60))
def test_any_text(text: str) -> None:
    pieces = list(split(text))
    position = 0
    for piece in pieces:
        # Pieces are parts of the text, in order; nothing else of it is lost but `;`,
        # space and comments.
        assert piece.text == piece.text.strip() != ""
        position = text.index(piece.text, position) + len(piece.text)
    assert all(piece.complete for piece in pieces[:-1])
    # A piece is one statement: splitting it again changes nothing.
    for piece in pieces:
        assert texts(piece.text) == [piece.text]


@given(st.text(CHARACTERS, max_size=40))
def test_other_characters_mean_nothing(text: str) -> None:
    inert = "x" + "".join(c for c in text if c not in "'\"/-;") + "y"
    assert texts(inert) == [inert]


@given(st.text("ab;'\"-/* \n\r\\", max_size=40).filter(lambda text: "/*/" not in text))
def test_the_parser_sees_one_statement_in_a_piece(text: str) -> None:
    for piece in split(text):
        try:
            tokens = tokenize(piece.text)
        except TokenError:
            continue
        assert all(token.token_type is not TokenType.SEMICOLON for token in tokens)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a 'b''c' 'd;\n e", Place(1, 10)),
        ('a\n, "b', Place(2, 3)),
        ("a -- 'b\n 'c", Place(2, 2)),
        ("a /* b */\n/* 'c' /* d */", Place(2, 1)),
    ],
)
def test_where_what_is_not_closed_begins(text: str, place: Place) -> None:
    with pytest.raises(SyntaxFault, match="is not closed") as caught:
        read_tokens(text)
    assert caught.value.place == place
