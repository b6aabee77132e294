"""Items that are read while others are in use."""

from __future__ import annotations

from threading import Event

import pytest

from dpdb.engines.sources.read_ahead import read_ahead
from dpdb.errors import DataFileError


def test_items_are_the_same_in_the_same_order():
    assert list(read_ahead(item for item in range(1, 20))) == [*range(1, 20)]
    assert list(read_ahead(item for item in ())) == []


def test_the_next_item_is_read_while_one_is_in_use():
    started = [Event(), Event(), Event()]

    def items():
        for event in started:
            event.set()
            yield event

    ahead = read_ahead(items())
    assert next(ahead) is started[0]
    assert started[1].wait(10)
    assert not started[2].is_set()
    ahead.close()


def test_what_is_left_off_is_closed():
    closed = []

    def items():
        try:
            yield from range(1, 9)
        finally:
            closed.append(True)

    read = items()
    ahead = read_ahead(read)
    next(ahead)
    assert not closed
    ahead.close()
    assert closed


def test_an_error_is_passed_on():
    def items():
        yield 1
        raise DataFileError("cannot be read")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(DataFileError, match="cannot be read"):
        next(ahead)
