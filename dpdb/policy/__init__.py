"""What is public about the data: tables, columns, bounds, and the budget of a session.

The room reads policies and the headers of CSV files. It may not know rows, noise or SQL. All other
rooms may know it.
"""
