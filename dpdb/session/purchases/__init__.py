"""Buying an answer: plan, price, debit and noise; and repeating, free, what was bought before."""
