"""Write the worked examples: files invented from a seed, and the pages as notebooks.

    python scripts/make_examples.py [DIRECTORY]

The files are committed, and a run gives the same bytes everywhere. A notebook has the text of its
page; each command of the page is a cell.
"""

import json
import random
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from make_sample_data import normal, pick, write_csv

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("school", "funnel", "survey", "messages")


def school(rng: random.Random) -> Iterator[tuple[object, ...]]:
    """Draw a row for each student: year, whether by bus, days absent and late."""
    for number in range(1, 1_151):
        bus = rng.random() < 0.45
        days = max(0, round(5 + 2.6 * bus + 3.5 * normal(rng)))
        if rng.random() < 0.01:
            days += 30 + int(60 * rng.random())
        late = sum(rng.random() < (0.3 if bus else 0.12) for _ in range(30))
        yield number, 5 + int(6 * rng.random()), "ny"[bus], days, late


def funnel(rng: random.Random) -> Iterator[tuple[object, ...]]:
    """Draw the pages that visitors of a shop opened, with the checkout that each was shown."""
    for number in range(1, 4_001):
        checkout, device = pick(rng, ("long", "short")), pick(rng, ("phone", "phone", "computer"))
        seen = ["product"] * (1 + int(4 * rng.random() ** 2))
        for page, chance in (
            ("basket", 0.42),
            ("address", 0.72 if checkout == "short" else 0.60),
            ("paid", 0.85 if device == "computer" else 0.75),
        ):
            if rng.random() > chance:
                break
            seen.append(page)
        for page in seen:
            yield f"v{number:05d}", page, checkout, device


def survey(rng: random.Random) -> Iterator[tuple[object, ...]]:
    """Draw answers of people of three ages; the young answered more often, and weigh less."""
    for number in range(1, 3_001):
        age, chance, weight = pick(rng, (("18-34", 0.68, 0.6), ("18-34", 0.68, 0.6),
                                         ("35-59", 0.52, 1.1), ("60+", 0.37, 1.9)))  # fmt: skip
        weight *= 1 + 0.15 * normal(rng)
        yield number, pick(rng, ("north", "south", "west", "old town")), age, \
            f"{weight:.2f}", "yes" if rng.random() < chance else "no"  # fmt: skip


def messages(rng: random.Random) -> Iterator[tuple[object, ...]]:
    """Draw who of a firm wrote to whom in a month, at which hour, and how long the message was."""
    persons = range(1, 401)
    busy = [0.4 + rng.random() ** 4 for _ in persons]  # a few write and are written to often
    for _ in range(12_000):
        sender, receiver = rng.choices(persons, busy, k=2)
        late = rng.random() < 0.18
        hour = 18 + int(5 * rng.random() ** 2) if late else 8 + int(10 * rng.random())
        words = 1 + int((60 if late else 120) * rng.random() ** 2)
        yield f"p{sender:03d}", f"p{receiver:03d}", hour, words


FILES = {
    "school": (("student", "year", "bus", "absent", "late"), school),
    "funnel": (("visitor", "page", "checkout", "device"), funnel),
    "survey": (("person", "district", "age", "weight", "agrees"), survey),
    "messages": (("sender", "receiver", "hour", "words"), messages),
}


def notebook(page: str) -> str:
    """A page as a notebook: `dpdb FILE -c STATEMENTS` becomes `%%dpdb`, other commands `!dpdb`."""
    cells, connected = [], ""
    for text in re.split(r"(?ms)^(```console\n.*?^```\n)", page):
        if not text.startswith("```console"):
            prose = re.sub(r"\]\((\w+)\.md\)", r"](../../dpdb/manual/\1.md)", text)
            cells.append(("markdown", prose))
            continue
        line = text.split("\n")[1].replace("sample_data/examples/", "")
        line = line.replace("sample_data/", "../")
        words = shlex.split(line.removeprefix("$ dpdb "))
        if "-c" not in words:
            cells.append(("code", f"!dpdb {shlex.join(words)}"))
            continue
        *options, _, statements = words
        if connected != (wanted := shlex.join(options)):
            load = "" if connected else "%load_ext dpdb\n"
            cells.append(("code", f"{load}session = %dpdb {wanted}"))
            connected = wanted
        cells.append(("code", "%%dpdb\n" + statements.replace("; ", ";\n")))
    empty: dict[str, dict[str, object]] = {
        "code": {"execution_count": None, "outputs": []},
        "markdown": {},
    }
    document = {
        "cells": [
            {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, **empty[kind],
             "source": source.strip().splitlines(keepends=True)}
            for number, (kind, source) in enumerate(cells) if source.strip()
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "sample_data" / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, (header, rows)) in enumerate(FILES.items(), 301):
        write_csv(folder / f"{name}.csv", header, rows(random.Random(seed)))
        page = (ROOT / "dpdb" / "manual" / f"{name}.md").read_text(encoding="utf-8")
        (folder / f"{name}.ipynb").write_text(notebook(page), encoding="utf-8")
