"""The doors: how people and programs reach a session.

A door shows answers. It may not know data, engines or noise, and imports neither numpy nor pandas
before they are needed, so that nobody waits for them.
"""
