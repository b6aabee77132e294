"""Whole statements: SELECTs of every form, each bound to a query."""
