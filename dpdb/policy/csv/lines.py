"""Lines of a CSV file that are no rows, and runs of blanks between cells.

Lines are physical ones, which end with a line feed, also within quotes. No line is held: whatever
its length, a filter keeps a byte or two between the pieces that it is fed.
"""

from __future__ import annotations

import re

from dpdb.records import dataclass

BLANK = " "
"""The separator of files whose cells are separated by runs of blanks and tabs."""
_BLANKS = re.compile(rb"[ \t]++")
_AROUND = re.compile(rb" ?(\r?\n) ?")


@dataclass(frozen=True)
class LineFormat:
    """The lines that are left out of a file, and whether blanks separate its cells."""

    skip: int = 0
    """The number of lines before the header, or the first row."""
    comment: str = ""
    """The character that lines begin with which are no rows."""
    blanks: bool = False

    def filter(self) -> LineFilter:
        """A filter that has read nothing yet."""
        return LineFilter(self)


EVERY_LINE = LineFormat()
"""The format of files whose lines are all read as they are."""


class LineFilter:
    """Leaves lines out of a text in UTF-8 that comes piece by piece."""

    def __init__(self, form: LineFormat) -> None:
        self._comment = form.comment.encode()
        self._blanks = form.blanks
        self._skip = form.skip
        self._begins = True
        """Whether the next byte is the first one of a line."""
        self._dropped = form.skip > 0
        """Whether the line that is read is left out."""
        self._held = b""
        """The text that may be dropped or kept by what follows."""
        self._kept_begins = True
        """Whether the next byte that is kept is the first one of a line."""

    def feed(self, data: bytes, *, final: bool) -> bytes:
        """The next bytes that are kept."""
        kept = b"".join(self._lines(data)) if self._dropped or self._comment else data
        return self._separated(kept, final=final) if self._blanks else kept

    def _lines(self, data: bytes) -> list[bytes]:
        """The parts of a piece that are on lines which are kept."""
        found, place = [], 0
        while place < len(data):
            if self._begins and self._comment and data.startswith(self._comment, place):
                self._dropped = True
            self._begins = False
            if self._dropped:
                end = data.find(b"\n", place) + 1
                if not end:
                    break
                self._skip = max(self._skip - 1, 0)
                self._dropped = self._skip > 0
            elif self._comment:
                # All lines until one that is a comment are kept together.
                end = data.find(b"\n" + self._comment, place) + 1 or len(data)
                found.append(data[place:end])
            else:
                end = len(data)
                found.append(data[place:end])
            self._begins = data[end - 1 : end] == b"\n"
            place = end
        return found

    def _separated(self, data: bytes, *, final: bool) -> bytes:
        """The text with one blank for each run of them, and none where a line begins or ends."""
        text = _AROUND.sub(rb"\1", _BLANKS.sub(b" ", self._held + data))
        if self._kept_begins:
            text = text.removeprefix(b" ")
        self._held = b""
        if not final:
            whole = text.rstrip(b" \r")
            text, self._held = whole, text[len(whole) :]
        else:
            text = text.removesuffix(b" ")
        if text:
            self._kept_begins = text.endswith(b"\n")
        return text
