"""Attacks, by kind: `dpdb lab` lists each class here that is an `Attack`."""
