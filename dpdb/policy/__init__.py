"""What is public about the data: tables, columns, bounds, and the budget of a session.

The room reads policies, the headers of CSV files and the schemas of others. It may not know rows,
noise or SQL. All other rooms may know it.
"""
