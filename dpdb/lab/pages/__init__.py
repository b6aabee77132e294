"""The story of an attack as a page: for the terminal, as HTML, as a picture.

The pages show what a trial has found. They may not know how an attack works.
"""
