"""How tests run: on a short tick, the same examples every time, none failing for being slow."""

from hypothesis import HealthCheck, settings

from dpdb import tick

tick.TICK = 1e-6  # tests run many statements, and have nobody to hide their time from

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
