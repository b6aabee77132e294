"""Figures as files; the name's ending says which kind."""

from __future__ import annotations

from pathlib import Path

from dpdb.errors import UsageError
from dpdb.plots import png, svg
from dpdb.plots.figures import Figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a .svg or .png file; any other ending is a `UsageError`."""
    match path.suffix.lower():
        case ".svg":
            _write(path, svg.document(figure))
        case ".png":
            png.save(figure, path)
        case _:
            raise UsageError(f"cannot draw into {path}", hint="name a file .svg or .png")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
