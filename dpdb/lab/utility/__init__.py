"""How useful noisy answers are, computed from ε, probabilities and errors alone.

The room may not know data, sessions or samplers of noise.
"""
