"""Before the noise: a plan into exact statistics.

`protocol` says what an engine gives back. `loop` is the loop of all engines: partitions, the work
to which rows are added, and who adds them. `memory` holds columns, `streams` goes over blocks of
rows, in threads or, by `passes`, in other processes, and `spark` lets the tasks of a cluster go
over them. The rooms below work out what rows come to, for all of them: `statistics` stands on
`relations` (rows made of others), `units` (whose rows, and which count) and `values`. Rows are read
through `sources`. Engines may not know noise, budgets, sessions or answers.
"""
