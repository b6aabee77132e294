"""Scalar expressions: types, functions, casts, predicates, and the binder of them all."""
