"""After the noise: estimates, intervals and rows from noisy values, and answers as text.

Everything here is post-processing of noisy values, public scales and the plan, so it can give away
nothing more. It may not know engines, the samplers of noise, or pandas, but for the
DataFrame that one module makes of an answer.
"""
