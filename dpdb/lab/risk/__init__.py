"""A study for the data owner: the ε that is safe enough for a query on one file.

It reads the file exactly and protects nothing, so nothing that answers analysts may know it.
"""
