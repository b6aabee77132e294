"""Items that are read while others are in use, and works that two threads do."""

from __future__ import annotations

from threading import Event, Thread
from unittest.mock import patch

import numpy as np
import pytest

from dpdb.engines.sources.read_ahead import read_ahead, side_by_side
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


def test_two_works_are_done_at_a_time():
    first, second, done = Event(), Event(), []

    def answer(own, other):
        own.set()
        assert other.wait(10)
        done.append(own)

    side_by_side([lambda: answer(first, second), lambda: answer(second, first)])
    assert {*done} == {first, second}


@pytest.mark.parametrize("place", range(4))
def test_an_error_of_a_work_is_raised_when_none_is_left(place):
    done = []

    def work(number):
        if number == place:
            raise DataFileError("cannot be read")
        done.append(number)

    with pytest.raises(DataFileError, match="cannot be read"):
        side_by_side([lambda number=number: work(number) for number in range(4)])
    assert sorted(done) == [number for number in range(4) if number != place]


@pytest.mark.parametrize("number", [1, 5])
def test_what_rows_hold_is_not_warned_of(number):
    huge = np.array([1e308])
    with np.errstate(all="raise"):
        side_by_side([lambda: huge * huge] * number)
