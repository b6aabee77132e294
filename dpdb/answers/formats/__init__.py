"""Answers as text: tables, JSON, CSV, Markdown, HTML, the tree of EXPLAIN; and as a DataFrame.

Each format is a pure function of an answer.
The room may not know where the text goes: a terminal, a file or a page.
"""
