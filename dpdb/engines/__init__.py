"""Before the noise: a plan into exact statistics.

`protocol` says what an engine gives back; each engine is a folder of its own beside it. `memory`
knows no other, `streams` works out with it what a part of a table comes to, and `spark` has parts
worked out by the tasks of a cluster. They read rows through `sources`; a `rank_window` stands for
values of which an engine keeps some. Engines may not know noise, budgets, sessions or answers.
"""
