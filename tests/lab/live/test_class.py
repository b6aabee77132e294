"""A class by plain HTTP: who gets in, who sees what, what a restart keeps, and the room."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from html import escape
from http.client import HTTPConnection
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.errors import UsageError
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab.classroom.room import ATTACKS
from dpdb.lab.live.game import FEWEST, FRAMES
from dpdb.lab.live.state import MOST_SEATS, ClassFile
from tests.lab.live.taught import Taught
from tests.server.served import hidden

EVIL = '"><img src=x onerror=a()>'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Taught]:
    with Taught(tmp_path) as server:
        yield server


def test_a_name_is_a_seat_and_a_second_browser_needs_the_teacher(served: Taught) -> None:
    wrong = served.post("/join", {"code": "1", "name": "Ada"}, served.get("/").cookie)
    assert wrong.status == 403
    assert "see the board" in wrong.text
    assert "keeps no cookies" in served.post("/join", {"code": served.file.state.code}).text
    for name in ("", " ", "x" * 31, "a\u202eb", "a\x00"):
        assert served.join(name)[0].status == 403
    ada, cookie = served.join("Ada")
    assert ada.status == 303
    # The form that is sent twice, and a second tab, are the same seat.
    assert served.join("Ada", cookie)[0].status == served.join("Bob", cookie)[0].status == 303
    assert "seat 1" in served.get("/", cookie).text
    _, other = served.join(" ＡＤＡ ")
    assert "ask the teacher" in served.get("/", other).text
    assert [seat.name for seat in served.file.state.seats.values()] == ["Ada"]
    # A third browser cannot push in between the knock and the teacher's answer.
    assert "waits for that name" in served.join("Ada")[0].text
    served.teach("refuse:1")
    assert "Join" in served.get("/", other).text
    served.join("ada", other)
    served.teach("admit:1")
    assert "seat 1" in served.get("/", other).text
    assert "Join" in served.get("/", cookie).text
    served.teach("remove:1")
    assert "Join" in served.get("/", other).text
    assert served.join("Ada", other)[0].status == 303
    assert "seat 2" in served.get("/", other).text


def test_only_so_many_have_a_seat_and_a_class_joins_at_once(served: Taught) -> None:
    with ThreadPoolExecutor(10) as threads:
        joined = list(threads.map(served.join, [f"student {n}" for n in range(30)]))
    assert {answer.status for answer, _ in joined} == {303}
    assert len({seat.name for seat in served.file.state.present}) == 30
    for n in range(30, MOST_SEATS):
        served.file.join(f"student {n}", f"hash {n}")
    assert "seats are taken" in served.join("late")[0].text


def test_secret_links_other_sites_and_hostile_names(served: Taught) -> None:
    for path in ("/control", "/board", "/events/board", "/events/control"):
        assert served.get(path).status == 403
    assert served.get("/t/wrong").status == served.get("/events/x").status == 404
    board, teacher = served.get(served.board).cookie, served.get(served.teacher).cookie
    assert served.get("/board", board).status == served.get("/board", teacher).status == 200
    assert served.get("/control", board).status == 403
    assert served.post("/teach", {"do": "show:room"}, board).status == 403
    for old in ("show:cellar", "remove:7", "play:9", ""):
        assert served.post("/teach", {"do": old}, teacher).status == 400
    foreign = {"Sec_Fetch_Site": "cross-site", "Origin": "http://evil.example"}
    assert served.post("/teach", {"do": "show:room"}, teacher, **foreign).status == 403
    assert served.post("/join", {}, teacher, **foreign).status == 403
    assert served.ask("GET", "/", headers={"Host": "evil.example"}).status == 403
    # Off the loopback browsers send no Sec-Fetch-Site, but the Origin: the page's own policy lets
    # it be sent with forms, which the header's would not.
    own = {"Sec_Fetch_Site": "", "Origin": served.origin}
    assert served.post("/teach", {"do": "show:lobby"}, teacher, **own).status == 303
    page = served.get("/")
    assert '<meta name="referrer" content="same-origin">' in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    _, cookie = served.join(EVIL)
    for path, who in (("/", cookie), ("/board", board), ("/control", teacher)):
        text = served.get(path, who).text
        assert escape(EVIL) in text.replace("&#34;", "&quot;")
        assert "<img" not in text


def events(
    served: Taught, path: str, cookie: str, then: Callable[[], object] | None = None
) -> list[dict[str, str]]:
    """The first state of a stream, and the next one after `then`."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=20)
    connection.request("GET", path, headers={"Cookie": cookie})
    response = connection.getresponse()
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["content-type"].startswith("text/event-stream")
    found = list[dict[str, str]]()
    while len(found) < (1 if then is None else 2):
        line = response.readline().decode()
        if line.startswith("data:"):
            found.append(json.loads(line[5:]))
            if then is not None and len(found) == 1:
                then()
    connection.close()
    return found


def test_events_are_whole_states_with_numbers(served: Taught) -> None:
    _, cookie = served.join("Ada")
    [state] = events(served, "/events/seat", cookie)
    assert state["html"] in served.get("/", cookie).text
    board = served.get(served.board).cookie
    first, second = events(served, "/events/board", board, lambda: served.join("Bob"))
    assert first["number"] < second["number"]
    assert "Bob" not in first["html"]
    assert "Ada" in second["html"]
    assert "Bob" in second["html"]
    page = served.get("/", cookie).text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page


def test_the_room_is_solved_and_then_the_class_asks(tmp_path: Path) -> None:
    with Taught(tmp_path) as served:
        _, ada = served.join("Ada")
        _, bob = served.join("Bob")
        served.teach("show:room")
        served.post("/seat", {"do": "bit", "bit": "1"}, ada)
        assert served.post("/seat", {"do": "bit", "bit": "2"}, bob).status == 400
        served.teach("play:0", "end")
        room = served.file.state.room
        assert room.chairs == [1, 2] + [0] * (FEWEST - 2)
        assert room.bits[0] == 1
        view = served.live.game.view()
        assert view is not None
        assert view.right == FEWEST
        assert "They found out your bit: 1" in served.get("/", ada).text
        served.teach("play:2", "end")
        view = served.live.game.view()
        assert view is not None
        assert view.turn["refused"]
        assert view.turn["asked"] >= ATTACKS // 2  # a subset that was counted before is free
        assert view.turn["honest"].endswith("± 3")
        served.teach("play:1")
        assert 1 < len(room.turns[1]) <= FRAMES + 1
        # A question about one seat, sent twice, is one question; under exact answers it tells.
        served.teach("asks:0")
        page = served.get("/", bob).text
        form = {"do": "question", "form": hidden(page, "form"), "chair1": "on"}
        assert served.post("/seat", form, bob).status == served.post("/seat", form, bob).status
        assert served.post("/seat", form | {"chair1": ""}, bob).status == 303
        assert "choose a seat" in served.post("/seat", {"do": "question"}, bob).text
        assert len(room.asked) == 1
        kept = served.get("/", ada).text.partition("<form")[0]
    # After a restart everything is where it was, and the class goes on asking.
    with Taught(tmp_path) as served:
        assert served.get("/", ada).text.startswith(kept)
        form = {"do": "question", "form": "another", "chair2": "on", "chair3": "on"}
        assert served.post("/seat", form, ada).status == 303
        view = served.live.game.view()
        assert view is not None
        assert view.who == "Ada"
        assert view.turn["asked"] == 2
        served.teach("clear")
        assert served.file.state.room.chairs == []
        assert served.file.state.seats[1].bit is None


def test_the_file_of_a_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "9b.class"
    file = ClassFile(path, "9b")
    file.join("Ada", "hash")
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="another server"):
        ClassFile(path, "9b")
    file.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind": "seat.join", "na')  # a crash in the middle of a line
    file = ClassFile(path, "9b")
    file.join("Bob", "other")
    file.record("contest.open", at=1000.0, task="membership", epsilon=1.0, minutes=5)
    file.record("contest.reveal", at=1060.0, revealed=True)
    file.close()
    file = ClassFile(path, "9b")  # much later: the clock stands since the last event
    assert (file.state.contest.since, file.state.contest.left) == (None, 240.0)
    assert [seat.name for seat in file.state.present] == ["Ada", "Bob"]
    file.close()
    for broken in (b"x\n", b"{}\n", b'{"kind": "class.nothing"}\n', b'{"kind": 5}\n'):
        path.write_bytes(broken)
        with pytest.raises(UsageError, match="not the file of a class"):
            ClassFile(path, "9b")
    with pytest.raises(UsageError, match=r"ends in \.class"):
        main(["serve", "--class", "9b", "--file", str(tmp_path / "data.csv")])
    for wrong in (
        ["serve"],
        ["serve", "--class", "../x"],
        ["serve", "--class", "9b", "--http", "x"],
    ):
        with pytest.raises(SystemExit):
            main(wrong)
    assert "such as 9b" in capsys.readouterr().err


def test_the_manuals_command_serves_other_machines(tmp_path: Path) -> None:
    [command] = re.findall(r"```sh\n(dpdb lab serve .*)\n```", manual.page("teaching"))
    words = command.replace("0.0.0.0:8080", "0.0.0.0:0").split()[1:]
    for more in ([], ["--quiz"]):  # the second goes on
        with subprocess.Popen(
            [sys.executable, "-m", "dpdb", *words, *more],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            told = "".join(process.stdout.readline() for _ in range(4))
            host, port = re.search(r"class 9b: http://([^/]+):(\d+)/", told).groups()
            connection = HTTPConnection(host, int(port), timeout=20)
            connection.request("GET", re.search(r"teacher: .*(/t/\S+)", told)[1])
            assert connection.getresponse().status == 303
            connection.close()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "9b.class").read_text().splitlines()]
    assert kinds == ["class.begin", "sheet.choose", "class.show"]
