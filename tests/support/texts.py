"""Texts of any characters."""

from __future__ import annotations

from hypothesis import strategies as st

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Those that UTF-8 can write. To find them by trying, as hypothesis does, takes seconds."""
