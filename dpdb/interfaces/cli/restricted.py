"""`--restricted`: dpdb for an analyst who runs it as the user who owns the data.

What is typed must lead to no other file and no program, and neither may what the process was
started with.
"""

from __future__ import annotations

import argparse

from dpdb.errors import UsageError


def check_restricted(options: argparse.Namespace) -> None:
    """Refuse, where --restricted is given, what leads to other files, or shows rows."""
    if not options.restricted:
        return
    named = [option for option, _ in options.scripts or [] if option == "-f"]
    given = {"-f": named, "-o": options.output, "--config": options.config,
             "--force": options.force, "--teach": options.teach}  # fmt: skip
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} does not go with --restricted")
    if not options.files:
        raise UsageError("--restricted is given with a policy", hint="dpdb POLICY --restricted")
    _check_limits()


def _check_limits() -> None:
    """Refuse a process of limited memory or processor time, and leave no core of another.

    Limits are inherited by what sudo starts. Whether a query ends within one that the analyst has
    chosen depends on how many rows there are, and noise hides nothing of that.
    """
    import resource  # noqa: PLC0415 (Windows has none)

    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU):
        if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY:
            raise UsageError(
                "--restricted runs without a limit on memory or processor time",
                hint="ulimit -d unlimited -t unlimited -v unlimited",
            )
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
