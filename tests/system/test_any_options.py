"""Whatever stands in OPTIONS or after SET is answered or refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.answers.answer import Answer
from dpdb.errors import BudgetExceeded, DpdbError, InternalError
from dpdb.session.session import Session
from tests.support.optional import asking, opened

pytestmark = pytest.mark.usefixtures("in_memory")

WORDS = st.sampled_from(
    ["epsilon", "delta", "noise_index", "error", "relative_error", "confidence", "mechanism",
     "sensitivity", "Epsilon", "'epsilon'", '"error"', "SELECT", "NULL", "x", "=", "=", "=", ",",
     ",", ",", "[", "]", "{", "}", "-", "+", ".", "/", "*", "::", ":", "0", "1", "0.5", ".5", "1e-6",
     "1e300", "1e-300", "99999999999999999999", "0.1", "10", "'gaussian'", "laplace", "smooth",
     "global", "local", "'", '"', "/* */", "-- \n", "\n", "π", "\0", "\u202e", "🎲", "nan", "inf"]
)  # fmt: skip
WELL_FORMED = st.builds(
    "{} = {}".format,
    st.sampled_from(["epsilon", "delta", "noise_index", "error", "relative_error", "confidence",
                     "mechanism", "sensitivity"]),
    st.sampled_from(["0", "1", "0.5", "1e-6", "-1", "1e99", "[1, 2]", "[1]", "[]", "[[1], 2]",
                     "gaussian", "'laplace'", "'smooth'", "global", "0.1 5", "[0.1, 1e9]"]),
)  # fmt: skip
SOUP = st.one_of(
    st.lists(WORDS, max_size=14).map(" ".join), st.lists(WELL_FORMED, max_size=4).map(", ".join)
)


def outcome(session: Session, text: str) -> Answer | DpdbError:
    try:
        return session.execute(text)
    except DpdbError as error:
        return error


@settings(max_examples=150)
@given(SOUP, st.sampled_from(["COUNT(*), SUM(x)", "COUNT(*)", "AVG(x)", "MEDIAN(m)", "SUM(0)"]))
def test_whatever_is_in_the_options_is_answered_or_refused(soup: str, select: str) -> None:
    session = opened()
    text = asking(soup, f"{select} FROM t")
    explained, answer = outcome(session, f"EXPLAIN {text}"), outcome(session, text)
    if isinstance(answer, Answer):
        assert isinstance(explained, Answer)
        assert answer.cost.epsilon <= explained.cost.epsilon
        assert answer.cost.delta <= explained.cost.delta
    else:
        assert not isinstance(answer, InternalError), soup
        assert answer.place is not None
        assert isinstance(explained, Answer) == isinstance(answer, BudgetExceeded)


@settings(max_examples=80)
@given(st.lists(WORDS, max_size=6).map(" ".join))
def test_whatever_is_set_is_set_or_refused(soup: str) -> None:
    assert not isinstance(outcome(opened(), f"SET {soup}"), InternalError), soup
