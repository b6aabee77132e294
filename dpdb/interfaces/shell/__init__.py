"""The prompt: what is typed, completed, coloured, asked and shown at a terminal.

Dot commands change how things look, never data or budget: whatever touches those is SQL, and goes
to the session.
"""
