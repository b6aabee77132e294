"""A statistical database shell that answers SQL about CSV files with differential privacy."""

__version__ = "0.1.0"
