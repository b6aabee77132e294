"""Rows of a file of people: benign ones, and hostile ones in which something is wrong."""

from __future__ import annotations

HEADER = b"id,name,age,income,zip,city,smoker,born\n"


def row(number: int, **cells: bytes) -> bytes:
    """A row with nothing wrong with it, but for the `cells` given."""
    usual = {
        "id": b"%d" % number,
        "name": [b"Ann", b"Bob", b"Cid"][number % 3] + b"%d" % number,
        "age": b"%d" % (20 + number * 7 % 60),
        "income": b"%d.%02d" % (number * 997, number),
        "zip": [b"10001", b"10002"][number % 2],
        "city": [b"Rome", b"Oslo", b"Lima"][number % 3],
        "smoker": [b"true", b"false"][number % 2],
        "born": b"19%02d-0%d-17" % (40 + number, 1 + number % 9),
    }
    return b",".join({**usual, **cells}.values())


BENIGN = [row(number) for number in range(24)]


def everywhere(cell: bytes) -> bytes:
    """A row with the same text in each of its cells."""
    return b",".join([cell] * 8)


HOSTILE: dict[str, bytes] = {
    "another": row(30, name=b"Zoe", age=b"33"),
    "NaN": everywhere(b"NaN"),
    "nan": everywhere(b"nan"),
    "inf": everywhere(b"inf"),
    "-Infinity": everywhere(b"-Infinity"),
    "underscores": everywhere(b"1_000"),
    "10^400": everywhere(b"1" + b"0" * 400),
    "1e400": everywhere(b"1e400"),
    "1e308": everywhere(b"1e308"),
    "-1e308": everywhere(b"-1.7e308"),
    "1e-320": everywhere(b"1e-320"),
    "2^53": everywhere(b"9007199254740992"),
    "2^63": everywhere(b"9223372036854775808"),
    "-2^64": everywhere(b"-18446744073709551616"),
    "Arabic digits": everywhere("٣٣".encode()),
    "fullwidth digits": everywhere("３３".encode()),
    "empty": everywhere(b""),
    "spaces": everywhere(b"  "),
    "NULL": everywhere(b"NULL"),
    "zero": everywhere(b"0"),
    "minus zero": everywhere(b"-0.0"),
    "thirty-three": everywhere(b"33"),
    "hex": everywhere(b"0x21"),
    "true": everywhere(b"true"),
    "date": everywhere(b"2000-01-01"),
    "30 February": everywhere(b"2001-02-30"),
    "year 0": everywhere(b"0000-01-01"),
    "year 9999": everywhere(b"9999-12-31"),
    "year 10000": everywhere(b"10000-01-01"),
    "NUL": everywhere(b"a\0b"),
    "not UTF-8": everywhere(b"\xff\xfe\x80"),
    "surrogate": everywhere(b"\xed\xa0\x80"),
    "byte order mark": everywhere(b"\xef\xbb\xbf5"),
    "line separator": everywhere("a\u2028b\x85c".encode()),
    "quoted": everywhere(b'"a ""b"" c"'),
    "quote inside": everywhere(b'a"b'),
    "quote, then text": everywhere(b'"a"b'),
    "comma in quotes": everywhere(b'"a,b"'),
    "newline in quotes": everywhere(b'"a\nb"'),
    "CR in quotes": everywhere(b'"a\rb"'),
    "formula": everywhere(b"=cmd()|'/c calc'!A1"),
    "escape": everywhere(b"\x1b]0;owned\x07\x1b[2J"),
    "C1 control": everywhere("\x9b31m\u202eevil".encode()),
    "SQL": everywhere(b"'; DROP TABLE t; --"),
    "percent": everywhere(b"%_%_%"),
    "a long name": row(31, name=b"a" * 30_000),
    "a long cell": row(31, city=b"x" * 2**20),
    "a long number": row(31, age=b"3" * 2**20, income=b"0." + b"7" * 2**20),
    "short": b"5,Zoe",
    "one cell": b"5",
    "long": row(32) + b",surplus" * 3,
    "undeclared keys": row(33, zip=b"99999", city=b"Atlantis", smoker=b"maybe"),
    "out of bounds": row(34, id=b"-5", age=b"-7", income=b"1e12", born=b"1066-10-14"),
    "the same person": row(0),
    "an open quote": b'35,"Zoe',
}
WORST = ["another", "NaN", "1e308", "2^63", "2^53", "empty", "escape", "not UTF-8", "short",
         "undeclared keys", "the same person"]  # fmt: skip
CHANGES_ROWS = {"an open quote"}
"""At the end of the file these are one row; elsewhere they swallow those after them."""
