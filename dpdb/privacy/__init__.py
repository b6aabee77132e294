"""The mathematics: sensitivities, mechanisms, the composition of losses, and the noise itself.

The modules of this folder describe mechanisms and see no data. `accounting` adds up losses. Only
`noise` receives exact results. The room may not know queries, plans, engines or answers.
"""
