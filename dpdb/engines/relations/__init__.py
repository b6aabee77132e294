"""Rows of SELECTs within FROM: joins, lookups, groups, unions and windows over rows of units.

Every relation is unit-wise (see `plan.relations`), so its rows are made for some units at a time.
"""
