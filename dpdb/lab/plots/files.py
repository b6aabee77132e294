"""Figures as files, SVG or PNG by the ending of the name."""

from __future__ import annotations

from pathlib import Path

from dpdb.errors import UsageError
from dpdb.lab.plots.chart import rendered
from dpdb.lab.plots.figures import Chart
from dpdb.lab.plots.svg import document
from dpdb.policy import output_files


def save(chart: Chart, path: Path, *, force: bool = False) -> None:
    """Write a chart to a .svg or .png file; any other ending is a `UsageError`."""
    match path.suffix.lower():
        case ".svg":
            output_files.save(path, document(chart).encode(), force=force)
        case ".png":
            save_png(chart, path, force=force)
        case _:
            raise UsageError(f"cannot draw into {path}", hint="name a file .svg or .png")


def save_png(chart: Chart, path: Path, *, force: bool = False) -> None:
    """Write a chart as PNG, whatever the file's name."""
    output_files.save(path, rendered(chart, "png", titled=True), force=force)
