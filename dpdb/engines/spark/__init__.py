"""The engine for tables that outgrow one machine: each task of Spark evaluates its own rows.

Spark is asked for rows and evaluates no expression. What the rows of a task come to is worked out
by `engines.memory` and added up by `engines.streams`, so a query means the same as on one machine.
It may not know noise or answers.
"""
