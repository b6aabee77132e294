"""Cells of text, such as those of CSV files, into columns of numbers and codes."""
