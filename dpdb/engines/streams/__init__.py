"""The engine for tables larger than memory: it goes over blocks of rows and keeps none of them.

Statistics of parts that have no unit in common add up to those of the whole, so what a part comes
to is left to `engines.memory`: one evaluator says what a query means. What cannot be put together
from parts is read whole. It may not know further engines, noise or answers.
"""
