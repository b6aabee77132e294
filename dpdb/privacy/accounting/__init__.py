"""The accounting of privacy losses: composition theorems, and what a budget covers under each.

The room may not know data, noise or plans. It loads no numpy, because the shell shows the price
of a query while it is typed.
"""
