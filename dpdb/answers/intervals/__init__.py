"""Confidence intervals of noisy values, from the tails of their noise."""
