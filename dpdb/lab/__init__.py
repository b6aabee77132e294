"""Attacks on statistical databases, each tried with its defence off, then on."""
