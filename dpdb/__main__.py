"""`python -m dpdb` and the command `dpdb`, which Ctrl-C ends without a traceback at any time."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    # A first answer makes 100,000 objects that stay, most of them by imports. To look through these
    # for garbage, in between and once more at the end, would take a fifth of the time.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    try:
        # Ctrl-C may come while Python imports it, too.
        from dpdb.interfaces.cli.main import main as run  # noqa: PLC0415

        return run(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
