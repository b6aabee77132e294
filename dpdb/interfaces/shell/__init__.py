"""The shell: the prompt with its completion and colours, dot commands, and answers on a terminal.

Dot commands change how things look, never data or budget. Whatever touches data or budget is SQL,
and goes to the session.
"""
