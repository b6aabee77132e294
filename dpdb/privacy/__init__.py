"""The mathematics: sensitivities, mechanisms, the composition of losses, and the noise itself.

`mechanisms` says which law each noise or choice has, and what it loses; `accounting` adds up
losses. Only `noise` sees exact results. The room may not know queries, plans, engines or answers.
"""
