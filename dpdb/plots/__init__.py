"""Figures, and how they are drawn: in characters, as SVG, as PNG."""
