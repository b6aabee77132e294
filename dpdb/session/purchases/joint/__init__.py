"""Plans of several statements together: what is drawn once, and serves all of them."""
