"""Before the noise: a plan into exact statistics.

`protocol` says what an engine gives back; each engine is a folder or file of its own beside it, and
none knows another. They read rows through `sources`. Engines may not know noise, budgets,
sessions or answers.
"""
