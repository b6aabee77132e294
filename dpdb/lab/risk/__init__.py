"""For the custodian: which epsilon is safe enough for a query on this very file.

It reads the file exactly and protects nothing, so nothing that answers analysts may know it.
"""
