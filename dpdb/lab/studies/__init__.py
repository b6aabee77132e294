"""Studies for the data owner: the fit of a file to its policy, risk, accuracy.

Nothing here is private, so nothing that answers analysts may know it. What `dpdb utility` shows
(`accuracy`, `utility`) is computed from ε, probabilities and errors alone, and
knows no data.
"""
