"""The contest, live: hidden data, budgets, guesses that are judged once, files, and the table."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import pytest

from dpdb.lab.classroom import box
from dpdb.lab.classroom.walls import Sandbox
from dpdb.lab.live import contest
from tests.lab.live.taught import Taught
from tests.server.served import hidden

COUNT = "SELECT COUNT(*) FROM people WHERE name = 'Peter Gist'"
OPEN = {"task": "membership", "epsilon": "1", "minutes": "5"}
FILE = """
from dpdb.lab.attack import Guess
from dpdb.lab.attacks.presence import Membership

class Mine(Membership):
    def run(self, session, rng):
        return Guess(True, "always")
"""


def send(served: Taught, cookie: str, do: str, **fields: str) -> tuple[int, str]:
    """Send a form of the page of now, twice: the second has no effect."""
    page = served.get("/", cookie).text
    own = {"do": do, "form": hidden(page, "form") + do, "round": hidden(page, "round")}
    first, second = (served.post("/seat", own | fields, cookie) for _ in range(2))
    assert first.status == second.status
    return first.status, first.text


def test_questions_cost_guesses_are_judged_and_secrets_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpdb.lab.live.state.secrets.randbits", lambda _: 2026)
    with Taught(tmp_path) as served:
        _, ada = served.join("Ada")
        _, bob = served.join("Bob")
        served.teach("show:contest")
        assert "Look at the projector" in served.get("/", ada).text
        for wrong in ({"epsilon": "0"}, {"epsilon": "nan"}, {"minutes": "0"}, {"task": "linkage"}):
            cookie = served.get(served.teacher).cookie
            assert served.post("/teach", {"do": "open"} | OPEN | wrong, cookie).status == 400
        served.teach("open", **OPEN)
        teams = served.file.state.contest.teams
        assert send(served, ada, "explain", statement=COUNT, epsilon="0.25")[0] == 303
        assert teams[1].asked[0]["used"] == 0
        assert send(served, ada, "ask", statement=COUNT, epsilon="0.25")[0] == 303
        assert [each["used"] for each in teams[1].asked] == [0, 0.25]
        send(served, ada, "ask", statement="SELECT AVG(nothing) FROM people", epsilon="")
        send(served, ada, "ask", statement="SELECT COUNT(*) FROM people", epsilon="0.8")
        assert "short by 0.05" in teams[1].asked[-1]["error"]
        page = served.get("/", ada).text
        assert "ε <b>0.75</b> of 1 left" in page
        assert "EXPLAIN SELECT" in page
        assert COUNT.replace("'", "&#39;") not in served.get("/", bob).text
        # Eight secrets, all guessed in the same way: each form is judged once, and told.
        for _ in range(8):
            assert send(served, bob, "guess", guess="yes")[0] == 303
        truths = {each["truth"] for each in teams[2].rounds}
        assert len(teams[2].rounds) == 8
        assert truths == {"yes", "no"}
        assert all((each["hits"] == 1) == (each["truth"] == "yes") for each in teams[2].rounds)
        assert "in truth" not in served.get("/", bob).text
        served.teach("reveal:on")
        assert "in truth" in served.get("/", bob).text
        assert send(served, ada, "guess", guess="perhaps")[0] == 400
        # A tab that has not heard of the last guess would guess a secret that nobody asked about.
        old = {"do": "guess", "form": "old", "round": "7", "guess": "yes"}
        assert "another tab has guessed" in served.post("/seat", old, bob).text
        assert len(teams[2].rounds) == 8
        served.teach("clock:stop")
        assert "the clock stands" in send(served, ada, "guess", guess="no")[1]
        assert teams[1].rounds == []
        left = served.get("/", ada).text
    with Taught(tmp_path) as served:  # after a restart the same secret, the same answers and ε
        assert "ε <b>0.75</b> of 1 left" in served.get("/", ada).text
        served.teach("clock:go")
        send(served, ada, "ask", statement=COUNT, epsilon="0.25")
        first, again = (
            each["rows"]
            for each in served.file.state.contest.teams[1].asked
            if each["statement"] == COUNT and not each["explain"]
        )
        assert first == again
        assert served.file.state.contest.teams[1].asked[-1]["used"] == 0.25
        assert "short by 0.05" in left
        cookie = served.get(served.teacher).cookie
        [row] = csv.DictReader(io.StringIO(served.get("/contest.csv", cookie).text))
        assert (row["student"], row["tries"], row["rank"]) == ("Bob", "8", "1")
        assert served.get("/contest.csv", ada).status == 403
        # Who is right 30 times with ε 0.1 each has not found that out by asking.
        right = {"seat": 1, "guess": "yes", "truth": "yes", "hits": 1, "tries": 1, "used": 0.1}
        for n in range(30):
            served.file.record("contest.guess", form=f"cheat {n}", **right)
        board = served.get("/board", served.get(served.board).cookie).text
        assert "not by asking" in board


@pytest.mark.skipif(box.sandbox() is Sandbox.NONE, reason="no sandbox here")
def test_files_are_played_in_their_sandbox_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "TRIALS", 30)
    with Taught(tmp_path) as served:
        _, ada = served.join("Ada")
        _, eve = served.join("Eve")
        served.teach("show:contest")
        served.teach("open", **OPEN)
        send(served, ada, "file", code=FILE)
        send(served, eve, "file", code="import nothing")
        teams = served.file.state.contest.teams
        while any(team.score is None for team in teams.values()):
            time.sleep(0.05)
        page = served.get("/board", served.get(served.board).cookie).text
        assert "Ada · file" in page
        assert "of 30" in page
        assert "No module named" in page
        send(served, ada, "file", code=FILE)
        while teams[1].score is None:
            time.sleep(0.05)
        assert "Ada · file 2" in served.get("/board", served.get(served.board).cookie).text
        # One file of a team is played at a time, so that no team has all places.
        teams[2].score = None
        assert "being played" in send(served, eve, "file", code=FILE)[1]
        teams[2].score = {"error": "x" * 2000}
        assert "x" * 200 not in served.get("/board", served.get(served.board).cookie).text
        # What cannot be kept in is not run.
        monkeypatch.setattr(contest, "sandbox", lambda: Sandbox.NONE)
        assert "no sandbox" in send(served, eve, "file", code=FILE)[1]
        monkeypatch.undo()
        send(served, eve, "file", code="while True: pass")
        begun = time.monotonic()
    assert time.monotonic() - begun < box.TIME_LIMIT / 2  # a server that ends does not wait for it
    with Taught(tmp_path) as served:
        assert served.file.state.contest.teams[2].score is None  # and another plays it again
