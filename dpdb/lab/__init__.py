"""The annexe: attacks on statistical databases, and studies of epsilon, for class and data owner.

Attacks are tried with their defence off, then on. Only the command line may use the lab; nothing
that answers queries may know it.
"""
