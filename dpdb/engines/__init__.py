"""Before the noise: a plan into exact statistics.

`protocol` says what an engine gives back; each engine is a folder or file of its own beside it.
`memory` knows no other, and `streams` works out with it what a part of a table comes to. They read
rows through `sources`; a `rank_window` stands for values of which an engine keeps some. Engines may
not know noise, budgets, sessions or answers.
"""
