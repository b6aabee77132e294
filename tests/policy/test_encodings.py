"""Which encodings are read, and that a line becomes the same UTF-8 in any company."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.errors import InvalidOption
from dpdb.policy.csv.csv_format import canonical_name, transcoder

READ = ["ascii", "latin-1", "cp1252", "cp437", "koi8_r", "mac_roman", "cp037", "utf-16-le",
        "utf-16-be", "utf-32-le", "utf-32-be", "shift_jis", "cp932", "euc_jp", "gb18030", "big5hkscs",
        "cp949", "johab"]  # fmt: skip
EAST_ASIAN = READ[READ.index("shift_jis") :]


def utf8(encoding: str, *pieces: bytes) -> bytes:
    """The pieces of a file, fed one after the other."""
    found = transcoder(canonical_name(encoding))
    assert found is not None
    return b"".join(
        [*(found.feed(piece, final=False) for piece in pieces), found.feed(b"", final=True)]
    )


@pytest.mark.parametrize(
    "name",
    ["utf-7", "hz", "iso2022_jp", "iso2022_kr", "unicode_escape", "raw_unicode_escape", "punycode",
     "idna", "rot13", "base64", "zlib", "hex", "quopri", "uu", "undefined", "klingon", "", "a\0b",
     "\ud800", "x" * 5000],
)  # fmt: skip
def test_an_encoding_in_which_lines_depend_on_lines_is_refused(name: str) -> None:
    with pytest.raises(InvalidOption):
        canonical_name(name)


def test_utf8_needs_no_transcoder() -> None:
    assert transcoder(canonical_name("UTF8")) is None


@pytest.mark.parametrize("name", READ)
def test_what_an_encoding_can_write_is_read_without_loss(name: str) -> None:
    characters = "".join(map(chr, range(0x3000)))
    known = characters.encode(name, "ignore").decode(name)
    assert utf8(name, known.encode(name)).decode() == known


@pytest.mark.parametrize("name", READ)
@settings(max_examples=25)
@given(
    lines=st.lists(
        st.binary(max_size=6)
        | st.sampled_from([b"\x81", b"\xd8", b"\x00\xd8", b"\xd8\x00", b"\x8e"]),
        max_size=5,
    ),
    cut=st.integers(1, 9),
)
@example(lines=[b"\x81", b"\x81\x30", b"\x81\x30\x81", b"\x8f\xa1", b"\xff"], cut=1)
def test_a_line_becomes_the_same_alone_and_among_others(
    name: str, lines: list[bytes], cut: int
) -> None:
    width = len("a".encode(name))
    feed = "\n".encode(name)
    # A line is whole units, and holds no line feed of its own.
    whole = [line[: len(line) // width * width] for line in lines]
    whole = [
        b"".join(
            line[at : at + width]
            for at in range(0, len(line), width)
            if line[at : at + width] not in (feed, "\r".encode(name))
        )
        for line in whole
    ]
    alone = b"\n".join(utf8(name, line) for line in whole)
    data = feed.join(whole)
    assert utf8(name, *(data[at : at + cut] for at in range(0, len(data), cut))) == alone


@pytest.mark.parametrize("name", EAST_ASIAN)
def test_no_byte_swallows_a_line_end(name: str) -> None:
    for end in (b"\n", b"\r"):
        for first in range(256):
            for prefix in (bytes([first]), bytes([first, 0x30]), bytes([first, 0x30, first])):
                assert utf8(name, prefix + end + b"7").endswith(end + b"7")


@pytest.mark.parametrize(
    ("name", "data"),
    [("cp1252", b"a\x81"), ("ascii", b"\xc3\xa9"), ("utf-16-le", b"a\0\0\xd8b\0"), ("utf-16-le", b"a\0b"),
     ("utf-32-be", b"\0\0\xd8\0"), ("shift_jis", b"\x81"), ("euc_jp", b"\xc3\n")],
)  # fmt: skip
def test_what_is_no_character_is_no_utf8_either(name: str, data: bytes) -> None:
    assert b"\xff" in utf8(name, data)
