"""The samplers: exact integer noise, and the selection of values, on exact results.

This is the one room of the mathematics that sees data. Only the session, and the studies of the
lab, may import it: plans are made without it, and what comes after the noise does not know it.
"""
