"""The relational kernel: keys, order, windows and joins over vectors.

Engines use it on rows of privacy units, and answers on noisy rows. So the kernel knows neither.
"""
