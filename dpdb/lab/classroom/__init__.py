"""The class: attacks from students' files, run in processes of their own and scored in a table.

A student's code sees answers and nothing else. Data, truth and session stay in the process that
scores it.
"""
