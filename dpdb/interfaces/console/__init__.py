"""The console: entries, dot commands, and answers as text, at the prompt and in batches alike.

Dot commands change how things look, never data or budget. Whatever touches data or budget is SQL,
and goes to the session.
"""
