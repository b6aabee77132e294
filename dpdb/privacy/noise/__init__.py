"""The samplers: exact integer noise, and the selection of values from exact results.

This is the only room of the mathematics that sees data. Only the session, and the studies of the
lab, may import it. Planning and post-processing do not know it.
"""
