"""Text into a query: statements are split, read against an allow-list and bound to the policy.

What is not on the list is refused with its place in the text, and nothing behind this room sees
the text. It may not know rows, budgets or noise.
"""
