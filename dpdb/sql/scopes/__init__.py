"""Scopes: which names an expression may use, and what GROUP BY leaves of them."""
