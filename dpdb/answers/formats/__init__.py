"""Answers as text: tables, JSON, CSV, Markdown, the tree of EXPLAIN; pure functions of an answer.

The room may not know where the text goes: a terminal, a file or a page.
"""
