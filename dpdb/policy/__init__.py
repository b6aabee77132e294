"""The public facts about the data: tables, columns, bounds, and the budget of a session.

The room reads policies, the headers of CSV files, and the schemas of other files and of servers: it
opens these for whoever reads rows, and looks at none. It may not know noise or SQL. All other rooms
may know it.
"""
