"""Rows that a SELECT within FROM makes of others: joins, lookups, groups, unions and windows.

Every relation is unit-wise (see `plan.relations`), so its rows are made piece by piece of units.
"""
