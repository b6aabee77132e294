"""What a statement would cost, before anybody decides to run it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answer import Answer
from dpdb.ledger import Balance, Price
from dpdb.policy import valid_epsilon

if TYPE_CHECKING:
    from dpdb.session import Session


def price_alone(text: str, session: Session, balance: Balance) -> Answer:
    """The price of a SELECT without its noise, and without looking into the file.

    Under `replace` noise can hang on the number of rows. That is public, but no
    reason to load a file while somebody types.
    """
    from dpdb.plan import plan  # noqa: PLC0415 (sqlglot)
    from dpdb.sql.statements import Select, statement  # noqa: PLC0415

    found = statement(f"EXPLAIN {text}", session.policy)
    assert isinstance(found, Select)
    asked = (found.query.options.epsilon, session.settings.epsilon, balance.share)
    epsilon = valid_epsilon(next(value for value in asked if value is not None))
    planned = plan(found.query, session.policy, epsilon, lambda _: 1)
    price = Price(planned.epsilon, Fraction(0), 1)
    return Answer(text, (), (), balance, cost=price, query=True, explain=True)
