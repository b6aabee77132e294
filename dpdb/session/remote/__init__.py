"""A session that a server answers, over HTTP."""
