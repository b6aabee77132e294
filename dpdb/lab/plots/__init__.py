"""Figures as data, and how they are drawn: in characters, as SVG, as PNG.

The drawing may not know what a figure is about.
"""
