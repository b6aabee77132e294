"""The engine that holds CSV files in memory, as columns of numpy arrays.

It may not know other engines, noise or answers.
"""
