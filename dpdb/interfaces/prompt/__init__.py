"""The prompt: a console at a terminal, with completion, colours, questions and a live price.

The room may not know the command line, and nothing in it comes from rows but noisy answers.
"""
