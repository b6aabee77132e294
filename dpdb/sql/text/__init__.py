"""SQL as text: statements and tokens, the dialect, and the labels of columns."""
