"""PostgreSQL's protocol 3.0: psql, drivers and what is built on them ask the desk.

Nothing here sees a session: columns are described from the policy and from plans (EXPLAIN), rows
come as answers from the desk, and the catalogue is made of the policy alone.
"""
