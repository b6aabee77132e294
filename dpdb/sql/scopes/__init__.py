"""Scopes: the names that an expression may use, and those that GROUP BY leaves."""
