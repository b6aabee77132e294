"""`dpdb serve`: a wall between analysts and the data, reached by browsers and programs.

Without accounts, or with a budget that ends with the process, it listens on the loopback alone.
Elsewhere it needs accounts, a lasting budget, and TLS here or at a reverse proxy.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dpdb.errors import DpdbError, UsageError, error_text, printable
from dpdb.interfaces.cli.arguments import add_ledger_argument, whole
from dpdb.interfaces.cli.parsers import Parser
from dpdb.interfaces.commands.mcp import PASSING
from dpdb.ledger.accounts import user
from dpdb.policy.catalog import Policy
from dpdb.policy.output_files import check_output, files_of_policy
from dpdb.records import dataclass
from dpdb.session.connect import policy_of
from dpdb.session.remote.server_link import is_loopback

if TYPE_CHECKING:
    from dpdb.server.desk import WorkerDesk
    from dpdb.server.messages import People

MOST_WORKERS = 64
_SHORTEST_TOKEN = 20
_BACKLOG = 128
"""Connections that wait while the workers open the tables."""


@dataclass(frozen=True)
class _Place:
    """The address at which the server listens, and its name in browsers."""

    host: str
    name: str
    """The host in addresses, such as stats.example.org or 127.0.0.1."""
    end: str
    """The end of the host: `:8080`, or nothing where the port is the usual one."""
    secure: bool

    @property
    def origin(self) -> str:
        """The scheme and host of the server's pages."""
        return f"{'https' if self.secure else 'http'}://{self.name}{self.end}"

    @property
    def hosts(self) -> frozenset[str]:
        """The values of Host that are meant for the server: on the loopback, with any of its names.

        The port outside is another where a container or a proxy maps it, so the name may be alone.
        """
        names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(self.host) else set[str]()
        ended = {f"{each}{self.end}" for each in {self.name, *names}}
        return frozenset(each.lower() for each in (self.name, *ended))


def main(words: list[str]) -> int:
    """Run `dpdb serve` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    policy = policy_of(*options.files, ledger=options.ledger)
    prepare("dpdb serve")
    import asyncio  # noqa: PLC0415 (slow, and for this alone)

    people: People | None = None
    if policy.lasting is not None:
        from dpdb.ledger.people import Accounts  # noqa: PLC0415 (sqlite)

        people = Accounts(policy.lasting)
    with ExitStack() as held:
        listeners = [
            held.enter_context(listening(name, *address))
            for name, address in (("--http", options.http), ("--postgres", options.postgres))
            if address is not None
        ]
        log = held.enter_context(_log_file(options, policy))
        asyncio.run(_serve(options, policy, people, listeners, log))
    return 0


def prepare(program: str) -> None:
    """Refuse to serve without the packages that it takes, and leave room for connections."""
    try:
        import dpdb.server.http.app  # noqa: F401, PLC0415 (optional)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{program} needs {error.name}", hint="pip install 'dpdb[serve]'"
        ) from None
    # A burst of connections, most of which are refused, leaves room for the others.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb serve`."""
    result = Parser(
        "dpdb serve",
        "[FILE.csv | POLICY.toml]... [options]",
        "Let analysts ask from browsers and programs, who cannot read the file, on one budget. "
        "Without accounts only this machine is served.",
    )
    add = result.add_argument
    add("files", nargs="+", metavar="FILE", help="a policy, or data files")
    add("--http", type=address, default=("127.0.0.1", 8080), metavar="HOST:PORT",
        help="where to listen: 127.0.0.1:8080")  # fmt: skip
    add("--postgres", type=address, metavar="HOST:PORT",
        help="where to listen for psql and other clients of PostgreSQL")  # fmt: skip
    add("--name", type=host_name, metavar="HOST",
        help="the host by which browsers call the server, such as stats.example.org")  # fmt: skip
    add("--workers", type=whole(MOST_WORKERS), default=1, metavar="N",
        help="processes that hold the tables: 1 is best for small ones")  # fmt: skip
    add("--certificate", type=Path, metavar="FILE", help="of TLS, with its chain, in PEM")
    add("--key", type=Path, metavar="FILE", help="the private key of the certificate, in PEM")
    add("--proxy", type=_proxy, metavar="ADDRESS",
        help="of a reverse proxy with TLS, whose X-Forwarded-For is believed")  # fmt: skip
    add("--log", type=Path, metavar="FILE",
        help="who asked when, a hash of the statement, cost, outcome; - is stderr")  # fmt: skip
    add("--log-statements", action="store_true", help="write statements into the log, too")
    add("--metrics-token", type=Path, metavar="FILE",
        help="with the token by which Prometheus may ask for /metrics")  # fmt: skip
    add_ledger_argument(result)
    return result


def address(text: str) -> tuple[str, int]:
    """The host and port of an argument such as `127.0.0.1:8080`."""
    host, colon, port = text.rpartition(":")
    known = port.isascii() and port.isdigit() and int(port[:6]) < 65536
    if not (host and colon and known) or "@" in host:
        raise argparse.ArgumentTypeError("write HOST:PORT, such as 127.0.0.1:8080")
    return host.removeprefix("[").removesuffix("]"), int(port)


def host_name(text: str) -> str:
    """The host of an argument, such as `stats.example.org`."""
    if not re.fullmatch(r"[A-Za-z0-9.-]{1,253}", text):
        raise argparse.ArgumentTypeError("write a host alone, such as stats.example.org")
    return text


def _proxy(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError("write the proxy's address, such as 127.0.0.1") from None


def _place(options: argparse.Namespace, policy: Policy, people: People | None, port: int) -> _Place:
    """The place to listen; raises UsageError where strangers could ask, or overhear."""
    host, _ = options.http
    secure = options.certificate is not None or options.proxy is not None
    afar = options.postgres is not None and not is_loopback(options.postgres[0])
    if options.proxy is not None or not is_loopback(host) or afar:
        files = " ".join(map(str, options.files))
        if policy.lasting is None:
            raise UsageError(
                "other machines are served from a budget that lasts, and this one ends with the "
                "server",
                hint='[budget] name = "…" in the policy, then dpdb budget open',
            )
        if people is None or not people.names:
            raise UsageError(
                "other machines are served where there are accounts",
                hint=f"dpdb user add NAME {files}",
            )
        if not secure:
            raise UsageError(
                "other machines are served by TLS",
                hint="--certificate FILE --key FILE, or --proxy ADDRESS of a proxy that has it",
            )
        if afar and options.certificate is None:
            raise UsageError(
                "psql from other machines is served by TLS of dpdb itself",
                hint="--certificate FILE --key FILE",
            )
        if options.name is None and (options.proxy is not None or not is_loopback(host)):
            raise UsageError(
                "the name by which browsers call the server is not known",
                hint="--name stats.example.org",
            )
    usual = 443 if secure else 80
    shown = f"[{host}]" if ":" in host else host
    end = "" if options.proxy is not None or port == usual else f":{port}"
    return _Place(host, options.name or shown, end, secure)


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    """The certificate; raises UsageError where it cannot be read."""
    if options.certificate is None:
        if options.key is not None:
            raise UsageError("a key is for a certificate", hint="--certificate FILE --key FILE")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(options.certificate, options.key)
    except OSError as error:  # of ssl, too
        raise UsageError(
            f"the certificate cannot be used: {error.strerror or error}",
            hint="--certificate FILE --key FILE, both in PEM",
        ) from None
    return context


def listening(option: str, host: str, port: int) -> socket.socket:
    """The socket; raises UsageError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]
        raise UsageError(
            f"cannot listen at {host}:{port}: {reason}",
            hint=f"{option} HOST:PORT names another address",
        ) from None


@contextmanager
def _log_file(options: argparse.Namespace, policy: Policy) -> Iterator[TextIO | None]:
    """The log, which its owner alone can read, and to which lines are added."""
    if options.log is None:
        if options.log_statements:
            raise UsageError("statements are written into a log", hint="--log FILE")
        yield None
        return
    if str(options.log) == "-":
        yield sys.stderr
        return
    own = [*files_of_policy(policy), *map(Path, options.files)]
    path = check_output(options.log, own, force=True)
    try:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"cannot write the log {options.log}: {error.strerror}") from None
    with os.fdopen(number, "a", encoding="utf-8") as file:
        yield file


def _metrics_token(options: argparse.Namespace) -> str | None:
    """The first line of the file with the token; raises UsageError where there is none."""
    if options.metrics_token is None:
        return None
    try:
        token = options.metrics_token.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, ValueError):
        token = ""
    if len(token) < _SHORTEST_TOKEN:
        raise UsageError(
            f"{options.metrics_token} has no token of {_SHORTEST_TOKEN} characters or more",
            hint="openssl rand -hex 32 > FILE",
        )
    return str(token)


async def _serve(
    options: argparse.Namespace,
    policy: Policy,
    people: People | None,
    listeners: list[socket.socket],
    log: TextIO | None,
) -> None:
    """Open the workers, and answer until a signal ends the server."""
    from dpdb.server.asking import Front, Setting  # noqa: PLC0415
    from dpdb.server.desk import WorkerDesk  # noqa: PLC0415
    from dpdb.server.http.app import HttpServer, application  # noqa: PLC0415
    from dpdb.server.log import Log  # noqa: PLC0415
    from dpdb.server.postgres.door import Door  # noqa: PLC0415
    from dpdb.server.processes import Opening  # noqa: PLC0415

    place = _place(options, policy, people, listeners[0].getsockname()[1])
    tls = _tls(options)
    passing = policy.lasting is None
    title = policy.lasting.name if policy.lasting else ", ".join(t.name for t in policy.tables)
    database = Path(options.files[0]).stem
    everybody = user() if people is None or not people.names else None
    setting = Setting(title, place.origin, everybody, passing, _metrics_token(options))
    given = {} if options.ledger is None else {"ledger": options.ledger}
    desk = await WorkerDesk.open(Opening(options.files, given, options.workers))
    try:
        front = Front(desk, setting, people, Log(log, statements=options.log_statements))
        app = application(front, place.hosts, proxy=options.proxy)
        server = HttpServer(app, proxy=options.proxy, tls=tls)
        print(f"{printable(title)} is served at {place.origin}/ (Ctrl-C ends it)", flush=True)
        if passing:
            print(PASSING, file=sys.stderr)
        async with AsyncExitStack() as doors:
            for listener in listeners[1:]:
                host, port = options.postgres[0], listener.getsockname()[1]
                door = Door(front, database, tls, near=is_loopback(host))
                await door.open(listener)
                doors.push_async_callback(door.close)
                print(f"psql -h {host} -p {port} {database}", flush=True)
            with _reloading(desk):
                await server.serve(listeners[:1])
    finally:
        await desk.close()


@contextmanager
def _reloading(desk: WorkerDesk) -> Iterator[None]:
    """Open the policy anew at SIGHUP, where no terminal sends it when it is closed."""
    import asyncio  # noqa: PLC0415

    if sys.stdin is not None and sys.stdin.isatty():
        yield
        return

    async def reload() -> None:
        try:
            await desk.reload()
            print("the policy was read again", file=sys.stderr)
        except DpdbError as error:
            print(f"the policy was not read again\n{error_text('', error)}", file=sys.stderr)

    begun = list[asyncio.Task[None]]()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, lambda: begun.append(loop.create_task(reload())))
    yield
    loop.remove_signal_handler(signal.SIGHUP)
    for each in begun:
        each.cancel()
