"""The names of settings and options, each with its meaning for people."""

from __future__ import annotations

from dpdb.privacy.mechanisms.kinds import NoiseKind

MECHANISMS = " or ".join(f"'{kind}'" for kind in NoiseKind)
SENSITIVITIES = ("global", "smooth")
_SWITCH = ("on", "off")
WORDS = {
    "interval": _SWITCH,
    "nonnegative": _SWITCH,
    "goal": ("relative", "cells", "totals"),
    "bounds": ("declared", "find"),
    "rows_per_unit": ("declared", "totals", "find"),
}
"""The values of options that are words."""

SETTINGS = {
    "epsilon": "what each query may spend, or 'default' for an even share",
    "mechanism": f"{MECHANISMS}: the noise on counts and sums; or 'default'",
    "sensitivity": "'global', or 'smooth' for MIN, MAX and quantiles; when teaching also 'local'",
    "interval": "'on': a fifth of a quantile's epsilon is for its interval; 'off': none",
    "bounds": "'find': a quarter of epsilon finds bounds for SUM, AVG, VARIANCE; or 'declared'",
    "rows_per_unit": "'find': a part of epsilon finds what a unit may add at most; 'totals': "
    "a SUM alone clamps what a unit adds, and drops no rows; or 'declared'",
    "repeats": "'free': a repeated query is answered as before; 'fresh': it costs ε again",
    "plan": "'on': the statements of a file are planned together, and share what they draw",
    "trial": "'on': answers are of made-up rows, and free, until it is 'off'",
}
"""The names that SET takes."""
TEACHING = {
    "dp": "off: exact answers, as from any database",
    "reveal": "on: print the exact statistic and the noise scale under each answer",
}
"""The names that SET takes in teaching mode only.

There sensitivity can also be 'local', the Δf that [EGS] reads off the data.
"""
OPTIONS = {
    "epsilon": "what the query may spend",
    "delta": "the probability of failure it may spend",
    "noise_index": "[1, 10]: the noise on each COUNT or SUM, in proportion",
    "error": "the least epsilon is spent that keeps the noise within ± this",
    "relative_error": "epsilon is spent step by step until the noise is this part of the answer",
    "confidence": "with which an error is kept; 0.95 unless given",
    "mechanism": f"{MECHANISMS}: the noise on counts and sums",
    "sensitivity": "'global' or 'smooth': of MIN, MAX and quantiles",
    "interval": SETTINGS["interval"],
    "goal": "of CUBE and ROLLUP: 'relative', 'cells' or 'totals' are to be accurate",
    "nonnegative": "'on': counts of CUBE and ROLLUP are at least 0",
    "bounds": SETTINGS["bounds"],
    "rows_per_unit": SETTINGS["rows_per_unit"],
}
"""The names that OPTIONS, of one query, takes."""
TERMS = {
    "privacy_unit_column": "the column of the privacy unit, as the policy has it",
    "max_rows_contributed": "how many rows of a unit count: no more than in the policy",
    "max_groups_contributed": "in how many groups a unit counts: no more than in the policy",
    "kappa": "max_groups_contributed",
    "group_selection_strategy": "PUBLIC_GROUPS for listed groups, LAPLACE_THRESHOLD for others",
    "min_privacy_units_per_group": "groups found in the data of fewer units are never shown",
}
"""BigQuery's names in OPTIONS, most of which repeat the policy."""
THRESHOLD = "min_privacy_units_per_group"
"""The term for keys found in the data."""
