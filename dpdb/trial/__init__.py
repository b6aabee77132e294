"""Rows to practise on, made up from a policy alone.

The room knows no data, no ledger and no noise: everybody with the policy makes up the same rows. A
session on them is like any other, but that its answers are marked and nothing is charged.
"""
