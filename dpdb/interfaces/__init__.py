"""The doors: how people and programs reach a session.

A door shows answers. It may not know data, numpy, engines or noise, and keeps nobody waiting for
their import.
"""
