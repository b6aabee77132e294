"""How useful noisy answers are: from epsilon, probability and error alone.

The room may not know data, sessions or noise: all of it is worked out with formulas.
"""
