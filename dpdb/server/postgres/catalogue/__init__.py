"""PostgreSQL's catalogue, made of the policy alone: what clients ask before they ask for data.

`statements` decides what is asked here, `tables` and `functions` hold what there is, and `queries`
and `expressions` bind a statement to it. A statement has its columns once it is bound; its work is
then counted step by step, and limited.
"""
