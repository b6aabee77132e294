"""Before the noise: a plan into exact statistics.

`protocol` says what an engine gives back. `memory` holds columns, `streams` goes over blocks of
rows, and `spark` has blocks worked out by the tasks of a cluster; what rows come to is worked out
in the rooms below, for all of them: `statistics` stands on `relations` (rows made of others),
`units` (whose rows, and which count) and `values`. Rows are read through `sources`. Engines may not
know noise, budgets, sessions or answers.
"""
