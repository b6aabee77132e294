"""`dpdb lab serve`: a class in its browsers, where it listens, and by which names."""

from __future__ import annotations

import argparse
import asyncio
import re
import socket
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpdb.errors import UsageError, printable
from dpdb.interfaces.cli.parsers import Parser
from dpdb.interfaces.commands.serve import address, host_name, listening, prepare
from dpdb.policy.output_files import check_output
from dpdb.session.remote.server_link import is_loopback

if TYPE_CHECKING:
    from dpdb.lab.live.state import ClassFile

LONGEST_CLASS = 30


def main(words: list[str]) -> int:
    """Run `dpdb lab serve` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    prepare("dpdb lab serve")
    from dpdb.lab.live.sheets import QUIZ  # noqa: PLC0415 (numpy)
    from dpdb.lab.live.state import SHEET, ClassFile  # noqa: PLC0415

    path = options.file or Path(f"{options.title}.class")
    if path.suffix != ".class":
        raise UsageError("the file of a class ends in .class", hint=f"--file {path}.class")
    check_output(path, force=True)
    with (
        listening("--http", *options.http) as listener,
        closing(ClassFile(path, options.title)) as file,
        TemporaryDirectory(prefix="dpdb-class-") as folder,
    ):
        if options.quiz and file.state.sheet != QUIZ:
            file.record("sheet.choose", sheet=QUIZ)
            file.record("class.show", page=SHEET)
        asyncio.run(_serve(options, file, Path(folder), listener))
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb lab serve`."""
    result = Parser(
        "dpdb lab serve",
        "--class NAME [options]",
        "Hold the lesson in the browsers of a class: the room, a contest, sheets. Nothing is "
        "installed there. Data are invented, or typed in for the purpose.",
    )
    add = result.add_argument
    add("--class", dest="title", required=True, type=_title, metavar="NAME",
        help="the class, such as 9b")  # fmt: skip
    add("--http", type=address, default=("127.0.0.1", 8080), metavar="HOST:PORT",
        help="where to listen: 127.0.0.1:8080; 0.0.0.0:8080 for other machines")  # fmt: skip
    add("--name", type=host_name, action="append", default=[], metavar="HOST",
        help="another name by which browsers call this machine")  # fmt: skip
    add("--quiz", action="store_true",
        help="hand out ten questions, with other numbers for each student")  # fmt: skip
    add("--file", type=Path, metavar="FILE.class",
        help="where the class is kept: NAME.class here")  # fmt: skip
    return result


def _title(text: str) -> str:
    if not re.fullmatch(rf"\w[\w -]{{0,{LONGEST_CLASS - 1}}}", text):
        raise argparse.ArgumentTypeError("write letters and digits, such as 9b")
    return text


async def _serve(
    options: argparse.Namespace, file: ClassFile, folder: Path, listener: socket.socket
) -> None:
    """Tell the addresses, and serve until a signal ends it."""
    from dpdb.lab.live.app import ClassServer, LiveClass  # noqa: PLC0415 (numpy)

    host, port = options.http[0], listener.getsockname()[1]
    names = [*options.name, *_names(host)]
    end = "" if port == 80 else f":{port}"
    hosts = {f"{name}{end}".lower() for name in names} | {name.lower() for name in options.name}
    first = f"http://{names[0]}{end}"
    state = file.state
    print(f"class {printable(state.title)}: {first}/  code {state.code}")
    print(f"teacher:   {first}/t/{state.teacher}")
    print(f"projector: {first}/t/{state.board}")
    print("Keep the first link secret. Ctrl-C ends it; the same command goes on.", flush=True)
    await ClassServer(LiveClass(file, folder), hosts).serve([listener])


def _names(host: str) -> list[str]:
    """The names of this machine in the addresses of browsers, the best one first."""
    near = ["127.0.0.1", "localhost", "[::1]"]
    if is_loopback(host):
        return near
    if host not in ("0.0.0.0", "::"):  # noqa: S104 (it is compared)
        return [f"[{host}]" if ":" in host else host, *near]
    found = list[str]()
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # which sends nothing, and tells the address in use
        found.append(probe.getsockname()[0])
    name = socket.gethostname()
    with suppress(OSError):
        found += [str(each[4][0]) for each in socket.getaddrinfo(name, None, socket.AF_INET)]
    return list(dict.fromkeys([*found, name, f"{name}.local", *near]))
