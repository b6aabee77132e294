"""Figures as files, SVG or PNG by the ending of the name."""

from __future__ import annotations

from pathlib import Path

from dpdb.errors import UsageError
from dpdb.lab.plots.chart import rendered
from dpdb.lab.plots.figures import Chart
from dpdb.lab.plots.svg import document


def save(chart: Chart, path: Path) -> None:
    """Write a chart to a .svg or .png file; any other ending is a `UsageError`."""
    match path.suffix.lower():
        case ".svg":
            _write(path, document(chart).encode())
        case ".png":
            save_png(chart, path)
        case _:
            raise UsageError(f"cannot draw into {path}", hint="name a file .svg or .png")


def save_png(chart: Chart, path: Path) -> None:
    """Write a chart as PNG, whatever the file's name."""
    _write(path, rendered(chart, "png", titled=True))


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
