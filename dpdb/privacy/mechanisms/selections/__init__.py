"""Selections: a value, an interval, bounds, a cap or keys, chosen by noisy scores."""
