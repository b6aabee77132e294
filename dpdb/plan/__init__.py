"""The query and its plan: exact statistics, the noise that is added to them, and the price.

A plan follows from the query and the policy alone. The rooms above share it as their contract. The
room may not know data, numpy, SQL text or an engine.
"""
