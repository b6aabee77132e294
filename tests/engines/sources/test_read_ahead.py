"""Items that are read while others are in use."""

from __future__ import annotations

from threading import Event, Thread
from unittest.mock import patch

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
    closed = Event()

    def items():
        try:
            yield from range(1, 9)
        finally:
            closed.set()

    ahead = read_ahead(items())
    next(ahead)
    assert not closed.is_set()
    ahead.close()
    assert closed.wait(10)


def test_what_is_left_off_may_be_closed_at_any_time():
    """Python looks for garbage amid other work, such as that of starting another thread."""
    left = read_ahead(item for item in range(1, 9))
    next(left)
    begun, start = [], Thread.start

    def begin():
        begun.append(next(read_ahead(item for item in range(1, 9))))

    def close_and_start(thread):
        left.close()
        start(thread)

    beginner = Thread(target=begin, daemon=True)
    with patch.object(Thread, "start", close_and_start):
        start(beginner)
        beginner.join(10)
    assert begun == [1]


def test_an_error_is_passed_on():
    def items():
        yield 1
        raise DataFileError("cannot be read")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(DataFileError, match="cannot be read"):
        next(ahead)
