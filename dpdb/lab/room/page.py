"""The room as a page: it shows the end of each stage, and with JavaScript every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdb import __version__
from dpdb.lab.pages.html import templates
from dpdb.lab.room.play import play, right, stages


def page(bits: Sequence[int], whose: str, seed: int) -> str:
    """The page with all stages and their steps, in one file."""
    with TemporaryDirectory(prefix="dpdb-room-") as directory:
        played = [
            (stage, list(play(stage, bits, Path(directory), seed))) for stage in stages(len(bits))
        ]
    return (
        templates()
        .get_template("room.html")
        .render(
            whose=whose,
            bits=bits,
            played=played,
            right=right,
            steps=[[asdict(step) for step in steps] for _, steps in played],
            seed=seed,
            version=__version__,
        )
    )
