"""Sources of rows: each kind of file or server is read into the same columns.

`protocol` says what a source gives back, and `opening` which source a table has, as its policy says
it. The cells of a CSV file and the values of typed columns go through the same builders, so that
one declaration means the same of both. Sources may not know plans, noise or answers.
"""
