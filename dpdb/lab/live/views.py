"""The views of a class, as HTML: templates escape every name and every text that was typed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from jinja2 import Environment

from dpdb.lab.catalogue import catalogue, find
from dpdb.lab.classroom.room import stages
from dpdb.lab.live import sheets
from dpdb.lab.live.contest import TASKS, Referee
from dpdb.lab.live.game import FEWEST, Game
from dpdb.lab.live.parts import Seat, Team
from dpdb.lab.live.state import CONTEST, PAGES, ROOM, SHEET, State
from dpdb.records import dataclass
from dpdb.server.http.pages import html

_STATIC = {"page.css": "text/css", "icon.svg": "image/svg+xml", "live.css": "text/css",
           "live.js": "text/javascript"}  # fmt: skip
_OF_SERVER = ("page.css", "icon.svg")


@dataclass(frozen=True)
class Shown:
    """A view at a moment: what every page of it shows, and the name of the page."""

    page: str
    """A page of another name has other forms, and is loaded anew."""
    html: str
    title: str
    forms: str = ""
    """The name of its forms in `forms.html`, which stay while `html` changes."""
    about: Mapping[str, object] | None = None
    """The values that the forms show."""


def page(view: str, shown: Shown, **values: object) -> str:
    """The whole page of a view."""
    about = {"refusal": "", "typed": {}} | values | dict(shown.about or {})
    return rendered("view", view=view, shown=shown, form=secrets.token_urlsafe(9), **about)


def message(text: str) -> str:
    """The page of an error."""
    return rendered("message", message=text)


def stranger(state: State, seat: Seat | None) -> Shown:
    """The page of who has no seat: to join, or to wait for the teacher."""
    if seat is not None:
        return Shown("wait", rendered("wait", seat=seat), state.title)
    return Shown("join", "", state.title, "join")


def seat(state: State, seat: Seat, game: Game, referee: Referee) -> Shown:
    """The page of a student."""
    name, forms = state.page, ""
    values: dict[str, object] = {"state": state, "seat": seat, "room": game.view()}
    values |= _contest(state, referee)
    if values["attack"]:
        team = state.contest.teams.get(seat.number, Team())
        name, forms = f"contest {state.contest.number} {len(team.rounds)}", "contest"
        values |= {"left": referee.left(seat), "team": team}
        values |= {"possible": TASKS[state.contest.task], "table": referee.table()}
    if state.page == SHEET and state.sheet:
        own = state.sheet_of(seat.number)
        name, forms = f"sheet {state.sheet} {own.handed} {state.solved}", "sheet"
        values |= {"asked": sheets.questions(state.sheet, state.seed, seat.number), "own": own}
    if state.page == ROOM:
        if not state.room.chairs:
            name, forms = "room-bit", "bit"
        elif state.room.class_asks:
            name, forms = "room-asks", "chairs"
    return Shown(f"{name} {seat.number}", rendered("seat", **values), state.title, forms, values)


def board(state: State, game: Game, referee: Referee, origin: str) -> Shown:
    """The page of the projector."""
    values: dict[str, object] = {"state": state, "room": game.view(), "origin": origin}
    values |= _contest(state, referee) | _standings(state, referee)
    values["handed"] = sum(state.sheet_of(seat.number).handed for seat in state.present)
    return Shown("board", rendered("board", **values), state.title)


def control(state: State, game: Game, referee: Referee, here: Mapping[int, int]) -> Shown:
    """The page of the teacher."""
    room = game.view()
    chairs = len(state.room.chairs) or max(FEWEST, len(state.present))
    values: dict[str, object] = {
        "state": state,
        "room": room,
        "paused": game.paused,
        "here": here,
        "pages": PAGES,
        "stages": [stage.title for stage in stages(chairs)],
    }
    values |= _contest(state, referee) | _standings(state, referee)
    if state.page == SHEET and state.sheet:
        values["progress"] = sheets.progress(state, time.time())
    forms = {CONTEST: "settings", SHEET: "choice"}.get(state.page, "")
    about = {
        "tasks": {name: find(name).title for name in TASKS},
        "sheets": {sheets.QUIZ: "Quiz: ten questions, other numbers for each student"}
        | {name: attack.title for name, attack in catalogue().items()},
    }
    html = rendered("control", **values)
    return Shown(f"control {forms}", html, state.title, forms, about)


def _contest(state: State, referee: Referee) -> dict[str, object]:
    """The values that tell of a contest on any page."""
    if state.page != CONTEST or not state.contest.task:
        return {"attack": None}
    now = time.time()
    contest = state.contest
    return {
        "attack": referee.attack,
        "seconds": round(contest.time_left(now)),
        "running": contest.is_open(now),
    }


def _standings(state: State, referee: Referee) -> dict[str, object]:
    """The values of the contest's board."""
    if state.page != CONTEST or not state.contest.task:
        return {}
    contest = state.contest
    return {
        "standings": referee.standings(),
        "waiting": [s.name for s in state.present if _waits(contest.teams.get(s.number))],
        "failed": [(s.name, told) for s in state.present if (told := _error(state, s))],
    }


def _waits(team: Team | None) -> bool:
    return team is not None and bool(team.file) and team.score is None


def _error(state: State, seat: Seat) -> str:
    team = state.contest.teams.get(seat.number)
    return str(team.score.get("error", "")) if team and team.score else ""


def rendered(name: str, **values: object) -> str:
    """A template filled with values, each of them escaped."""
    return _environment().get_template(f"{name}.html").render(values)


@cache
def _environment() -> Environment:
    made = html.environment("dpdb.lab.live")
    made.filters["clock"] = lambda seconds: f"{seconds // 60}:{seconds % 60:02}"
    made.filters["percent"] = lambda rate, digits=0: f"{rate:.{digits}%}"
    return made


@cache
def static(name: str) -> tuple[bytes, str] | None:
    """A file of the pages with its type; None where there is none of this name."""
    if name not in _STATIC:
        return None
    if name in _OF_SERVER:
        return html.static(name), _STATIC[name]
    return files("dpdb.lab.live").joinpath("static", name).read_bytes(), _STATIC[name]
