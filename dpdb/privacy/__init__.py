"""The mathematics: sensitivities, mechanisms, how their losses add up, and the noise itself.

What stands here by itself describes mechanisms without data; `accounting` adds up losses;
`noise` alone is handed exact results. It may not know queries, plans, engines or answers.
"""
