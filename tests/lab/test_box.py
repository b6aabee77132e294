"""The box: what a file that cheats reaches in it, sends from it, and leaves in it.

Sandboxes that this machine does not have are skipped, with the reason.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from dpdb.errors import StudentFileError
from dpdb.lab.catalogue import find
from dpdb.lab.classroom import box, walls
from dpdb.lab.classroom.attack_file import opened
from dpdb.lab.classroom.box import Box, StudentFile, reached, sandbox
from dpdb.lab.classroom.scores import Rules, as_table, ranked, score
from dpdb.lab.classroom.walls import Sandbox
from dpdb.lab.database import Protected
from dpdb.lab.trial import run_trials

WALLS = (Sandbox.BUBBLEWRAP, Sandbox.USER)


_reached = cache(reached)


@pytest.fixture(params=WALLS)
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """Each sandbox that works here, in turn, as the one that files are played in."""
    kind: Sandbox = request.param
    if kind is Sandbox.USER and os.getuid() != 0:
        pytest.skip("only root can become another user")
    try:
        holes = _reached(kind)
    except (OSError, StudentFileError) as error:
        pytest.skip(f"no box of {kind} starts here: {error}")
    assert holes <= box._LEFT_OPEN[kind]  # or else what follows would end processes of others
    monkeypatch.setattr(box, "sandbox", lambda: kind)
    return kind


def cheat(body: str, before: str = "") -> StudentFile:
    """A file that attacks the secret of `membership` with that body of `run`."""
    indented = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return StudentFile(
        "eve",
        f"import ctypes, glob, os, socket, sys, time\n{before}\n"
        "from dpdb.lab.attack import Guess\nfrom dpdb.lab.attacks.presence import Membership\n\n"
        f"class Eve(Membership):\n    def run(self, session, rng):\n{indented}\n",
    )


def said(file: StudentFile, runs: int = 1) -> list[str]:
    """The grounds of the file's guesses, in as many runs."""
    with opened(file, 20, task=find("membership")) as played:
        return [
            run_trials(played, (Protected(1, 1),), 1, seed).showings[0].guess.because
            for seed in range(runs)
        ]


REACHING = """
found = []
def attempt(name, step):
    try:
        step()
    except OSError:
        return
    found.append(name)
for path in glob.glob({temporary!r} + "/dpdb-lab-*/*.csv") + [{file!r}]:
    attempt("file", lambda: open(path).read())
for each in ({referee}, os.getppid()):
    attempt("memory", lambda: open(f"/proc/{{each}}/mem", "rb"))
    attempt("environment", lambda: open(f"/proc/{{each}}/environ").read())
attempt("kill", lambda: os.kill({referee}, 0))
attempt("network", lambda: socket.create_connection(("127.0.0.1", {port}), 2))
attempt("network", lambda: socket.socket(socket.AF_UNIX).connect({name!r}))
for folder in ("/", "/tmp", "/dev", "/dev/shm", "/usr", {package!r}):
    attempt("write", lambda: open(folder + "/eve", "w").close())
attempt("root", lambda: os.setuid(0))
if open("/proc/self/oom_score_adj").read() .strip() != "1000":
    found.append("others' memory")
if "SECRET" in os.environ:
    found.append("environment")
return Guess(True, " ".join(found))
"""


def test_a_file_reaches_nothing(
    wall: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trial, memory, environment, other people's folders, network, files to write, root."""
    monkeypatch.setenv("SECRET", "of the teacher")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "grades.csv").write_text("1.0", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(name := f"\0dpdb-{os.getpid()}")
        local.listen()
        body = REACHING.format(
            temporary=tempfile.gettempdir(),
            file=str(closed / "grades.csv"),
            referee=os.getpid(),
            port=server.getsockname()[1],
            name=name,
            package=str(Path(box.__file__).parent),
        )
        [because] = said(cheat(body))
    open_ones = {Sandbox.BUBBLEWRAP: set(), Sandbox.USER: {"network", "write"}}[wall]
    assert set(because.split()) == open_ones


LEAVING = """
found = []
for path in ("/tmp/eve-left", "/dev/shm/eve-left", "/var/tmp/eve-left"):
    found += glob.glob(path)
    try:
        os.mkdir(path)
    except OSError:
        pass
shared = ctypes.CDLL(None).shmget(4711, 4096, 0o600)
if shared != -1:
    found.append("shared memory")
ctypes.CDLL(None).shmget(4711, 4096, 0o1600)
try:
    socket.socket(socket.AF_UNIX).connect("\\0eve-left")
    found.append("socket")
except OSError:
    pass
if "left" in globals():
    found.append("global")
globals()["left"] = True
ready = os.pipe()
if os.fork() == 0:
    os.setsid()
    server = socket.socket(socket.AF_UNIX)
    server.bind("\\0eve-left")
    server.listen()
    os.write(ready[1], b"1")
    time.sleep(60)
os.read(ready[0], 1)
return Guess(True, repr(found))
"""


def test_nothing_is_carried_over_from_a_run_to_the_next(wall: Sandbox) -> None:
    assert said(cheat(LEAVING), runs=2) == ["[]", "[]"]
    assert not Path("/tmp/eve-left").exists()


def _alive(uid: int) -> list[str]:
    """The processes of a user that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            told = dict(line.split(":", 1) for line in path.read_text().splitlines())
            if str(uid) in told["Uid"].split() and "Z" not in told["State"]:
                found.append(told["Name"])
    return found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass", "not done"),
        ("with open('/tmp/eve-full', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))",
         "Errno"),
        ("bytearray(2 << 30)", "MemoryError"),
        ("os.kill(-1, 9)\nos.kill(os.getpid(), 9)", "its process ended before it had answered"),
        ("os.kill(os.getppid(), 19)\ntime.sleep(60)", "not done"),
    ],
    ids=["forks", "disk", "memory", "kills all", "stops its host"],
)  # fmt: skip
def test_a_file_that_destroys_fails_and_the_referee_goes_on(
    body: str, message: str, wall: Sandbox
) -> None:
    seconds = 20 if message == "MemoryError" else 1  # a busy machine takes long to import
    with Box(cheat(body), seconds) as opened_box, opened_box.process() as process:
        with pytest.raises(StudentFileError, match=message):
            process.ask(["run", 1])
        uid = opened_box._uid
    until = time.monotonic() + 5
    while _alive(uid) and time.monotonic() < until:
        time.sleep(0.05)
    assert _alive(uid) == []
    assert not Path("/tmp/eve-full").exists()


SENDING = """
import gc, pickle, struct, sys, time
from dpdb.lab.attack import Attack

def raw(data):
    [line] = [each for each in gc.get_objects() if type(each).__name__ == "Line"]
    line._socket.sendall(data)

class Eve(Attack):
    scenario = run = None
    def score(self, guess, truth):
        message = {
            "a list": b"[1]",
            "half": b"{",
            "deep": b"[" * 10_000 + b"]" * 10_000,
            "not a number": b'{"done": NaN}',
            "infinite": b'{"done": 1e999}',
            "whole": b'{"done": ' + b"9" * 100_000 + b"}",
            "pickle": pickle.dumps({"done": [1, 1]}),
            "bytes": b"\\xff\\xfe",
            "nothing": b"{}",
            "refused": b'{"execute": "SELECT 1"}',
        }.get(guess)
        if message is not None:
            raw(struct.pack(">I", len(message)) + message)
        elif guess == "huge":
            raw(struct.pack(">I", 2**32 - 1))
        elif guess == "slow":
            raw(struct.pack(">I", 1000))
            while True:
                raw(b" ")
                time.sleep(0.1)
        elif guess == "loud":
            print("garbage" * 100_000)
            return 1, 1
        time.sleep(60)
"""


def test_what_no_file_should_send_is_an_error(wall: Sandbox) -> None:
    """One process for each message; whatever comes, the next one is as good as the first."""
    unread = ["a list", "half", "deep", "not a number", "whole", "pickle", "bytes"]
    with Box(StudentFile("eve", SENDING), 20) as opened_box:
        for sent in unread:
            with (
                opened_box.process() as process,
                pytest.raises(StudentFileError, match="it sent what cannot be read"),
            ):
                process.ask(["count", sent, 1])
        for sent, message in (("huge", "more than 1 MiB at once"), ("nothing", "not asked for"),
                              ("refused", "not asked for")):  # fmt: skip
            with opened_box.process() as process, pytest.raises(StudentFileError, match=message):
                process.ask(["count", sent, 1])
        with opened_box.process() as process:
            assert process.ask(["count", "loud", 1]) == [1, 1]
    for sent in ("slow", "never"):
        with (
            Box(StudentFile("eve", SENDING), 1) as opened_box,
            opened_box.process() as process,
            pytest.raises(StudentFileError, match="not done after 1 seconds, and was ended"),
        ):
            process.ask(["count", sent, 1])


HONEST = "from dpdb.lab.attacks.presence import Membership\nclass Ada(Membership): pass\n"


def test_an_honest_file_scores_the_same_in_every_box(
    wall: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules(find("membership"), [1.0], trials=5, seconds=20, seed=1)
    boxed = score(StudentFile("ada", HONEST), rules)
    monkeypatch.setattr(box, "sandbox", lambda: Sandbox.NONE)
    free = score(StudentFile("ada", HONEST), rules)
    assert boxed.rows[1].rank is None  # before it is beside others
    assert (boxed.error, boxed.report) == ("", free.report)
    assert [each.rank for each in ranked(boxed.rows)] == [None, 1]
    assert [each.rank for each in ranked(free.rows)] == [None, None]
    assert "sandbox: none, so nothing is ranked" in as_table([free])


def test_a_box_is_called_by_what_it_keeps_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program called bwrap is not enough: the box is found by running a probe in it."""
    monkeypatch.setattr(walls, "bubblewrap", lambda rights: ["nowhere/bwrap"])
    assert sandbox.__wrapped__() is not Sandbox.BUBBLEWRAP
    for holes, kind in (
        ({"network"}, Sandbox.USER if os.getuid() == 0 else Sandbox.NONE),
        ({"file"}, Sandbox.NONE),
    ):
        monkeypatch.setattr(box, "reached", lambda kind, holes=holes: frozenset(holes))
        assert sandbox.__wrapped__() is kind
