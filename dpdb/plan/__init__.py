"""The query and its plan: what is computed, what is added to it, and what that costs.

A plan follows from the query and the policy alone. This is the contract that all others build on;
it may not know data, numpy, SQL text or an engine.
"""
