"""The engine that holds tables in memory, as columns of numpy arrays.

It may not know other engines, noise or answers.
"""
