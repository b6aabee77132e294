"""The story of an attack as a page: for the terminal, as HTML, as a picture.

The pages show the results of trials. They may not know how an attack works.
"""
