"""The annexe: attacks on statistical databases, and studies of epsilon, for class and custodian.

Attacks are tried with their defence off, then on. Nothing that answers queries may know the lab;
it is reached from the command line only.
"""
