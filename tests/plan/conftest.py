"""The tables that are asked here: the people, and a small one with every type."""

from tests.support.tables import policy, session

__all__ = ["policy", "session"]
