"""Matplotlib's SVG, made smaller, with colours for light and dark, and text for screen readers.

Matplotlib writes one palette into every mark. Here each of its colours becomes a class,
so that a style sheet gives the class one colour for light and another for dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from dpdb.errors import UsageError, printable
from dpdb.lab.plots.chart import LIGHT, alone, rendered
from dpdb.lab.plots.figures import Chart
from dpdb.policy import output_files

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_SHOWN = 720
"""Pixels across in a viewer."""
_NAMES = {colour: name for name, colour in LIGHT.items()}
"""The name of each colour of the palette."""


def in_page(chart: Chart) -> str:
    """A chart for a page, whose style sheet has the colours and whose heading is its title."""
    return ElementTree.tostring(_smaller(chart, titled=False), encoding="unicode")


def document(chart: Chart) -> str:
    """A chart with its title, as a file that needs no other."""
    root = _smaller(chart, titled=True)
    root.set("xmlns", _SVG.strip("{}"))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    root.set("width", f"{_SHOWN}")
    root.set("height", f"{_SHOWN * height / width:.0f}")
    style = ElementTree.Element("style")
    style.text = f"\n{alone()}"
    root.insert(2, style)  # after the title, which comes first, and the description
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _smaller(chart: Chart, *, titled: bool) -> ElementTree.Element:
    """The drawing with its title and description, without namespaces."""
    drawing = rendered(chart, "svg", titled=titled)
    root = ElementTree.fromstring(drawing)  # noqa: S314 (matplotlib wrote it a moment ago)
    for element in [root, *_descendants(root)]:
        _rewrite(element)
    root.attrib = {"viewBox": root.attrib["viewBox"], "class": "chart", "role": "img"}
    for place, (tag, text) in enumerate((("title", chart.title), ("desc", chart.description))):
        caption = ElementTree.Element(tag)
        caption.text = printable(text)
        root.insert(place, caption)
    return root


def _descendants(parent: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """All elements below, after matplotlib's own style sheet is taken away.

    Its style sheet would apply to the whole page that a chart stands in.
    """
    for child in list(parent):
        if child.tag == f"{_SVG}style":
            parent.remove(child)
        else:
            yield child
            yield from _descendants(child)


def _rewrite(element: ElementTree.Element) -> None:
    """Rewrite an element: plain names, colours as classes, places to a tenth of a unit."""
    element.tag = element.tag.removeprefix(_SVG)
    element.text = element.text if element.tag == "text" else None
    element.tail = None
    given, element.attrib = element.attrib, {}
    for name, value in given.items():
        match name.removeprefix(_XLINK):
            case "style":
                _style(element, value)
            case "id" if element.tag == "g":
                pass  # names like axes_1, which nothing refers to
            case "transform" if value.startswith("rotate(-0 "):
                pass
            case "d":
                element.set("d", re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(value)).strip())
            case "x" | "y" | "width" | "height" | "transform" as plain:
                element.set(plain, _rounded(value))
            case plain:
                element.set(plain, value)


def _style(element: ElementTree.Element, style: str) -> None:
    """The declarations, with a class for each colour and the font left to the style sheet."""
    classes, kept = [], []
    for declaration in style.split("; "):
        name, _, value = declaration.partition(": ")
        if name in ("fill", "stroke") and value != "none":
            classes.append(f"{name}-{_NAMES[value]}")
        elif name != "font-family":
            kept.append(f"{name}:{value}")
    if classes:
        element.set("class", " ".join(classes))
    if kept:
        element.set("style", ";".join(kept))


def _rounded(numbers: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), numbers)


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
