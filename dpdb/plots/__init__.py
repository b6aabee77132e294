"""Figures, and how they are drawn: in characters, and by matplotlib as SVG and PNG."""
