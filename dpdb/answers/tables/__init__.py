"""Tables of noisy answers: rows, groups, windows and joins over them, all post-processing."""
