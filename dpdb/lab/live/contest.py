"""The contest, live: each team asks about hidden data of its own, guesses, and gets a new secret.

Guesses by hand and attack files stand in one table, that of `dpdb lab --score`. A file is played
in its sandbox alone.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import NOT_PRIVATE
from dpdb.errors import DpdbError, printable
from dpdb.lab.attack import Attack
from dpdb.lab.catalogue import find
from dpdb.lab.classroom.box import TIME_LIMIT, StudentFile, end_all, sandbox
from dpdb.lab.classroom.scores import AT_A_TIME, Played, Row, Rules, Score, ranked, row, score
from dpdb.lab.classroom.walls import Sandbox
from dpdb.lab.database import Protected, session_of
from dpdb.lab.live.parts import Event, Seat, Team
from dpdb.lab.live.state import ClassFile, Unwelcome
from dpdb.lab.scenario import Scenario
from dpdb.privacy.noise.sources import seeded
from dpdb.records import dataclass
from dpdb.server.http.pages import html
from dpdb.session.session import Session

QUESTIONS = 100
"""The query limit of a secret."""
TRIALS = 100
"""The runs of an attack file."""
LONGEST_NUMBER = 40
MOST_ROWS = 60
"""The rows of an answer that are shown."""
_SEEDED = f" · {NOT_PRIVATE}"
_WITHOUT_OPTIONS = ("SET", "SHOW", "DESC")
YES_NO = ("yes", "no")
TASKS: dict[str, range | tuple[str, str]] = {
    "differencing": range(18, 66),
    "membership": YES_NO,
    "averaging": YES_NO,
    "maximum": range(18, 66),
    "individual-tracker": range(8),
    "general-tracker": range(8),
    "group-keys": YES_NO,
    "many-rows": YES_NO,
}
"""The attacks whose secret a team can ask about, and the possible guesses."""


@dataclass(frozen=True)
class Standing:
    """A line of the board."""

    row: Row
    seat: int
    left: str
    """The ε that is left of the team's secret of now; empty for a file."""


class Referee:
    """Keeps secrets, answers about them, and judges guesses."""

    def __init__(self, file: ClassFile, folder: Path, changed: Callable[[], None]):
        self._file, self._folder, self._changed = file, folder, changed
        self._open: dict[int, tuple[tuple[int, int], Scenario, Session]] = {}
        self._locks: dict[int, asyncio.Lock] = {}
        self._playing = asyncio.Semaphore(AT_A_TIME)
        self._tasks, self._closing = set[asyncio.Task[None]](), False

    @property
    def attack(self) -> Attack:
        """The attack that is played."""
        return _attack(self._file.state.contest.task)

    async def ask(self, seat: Seat, fields: dict[str, str], *, explain: bool) -> None:
        """Answer a team's statement, or refuse it; raises Unwelcome while the clock stands."""
        statement, form = fields.get("statement", "").strip().rstrip(";"), fields.get("form", "")
        async with self._lock(seat):
            if self._is_done(form) or not statement:
                return
            epsilon, number = fields.get("epsilon", "").strip(), self._file.state.contest.number
            if len(epsilon) > LONGEST_NUMBER:
                raise Unwelcome("ε is a number, such as 0.1")
            asked = {"statement": statement, "epsilon": epsilon}
            reply = await asyncio.to_thread(self._reply, seat, asked, explain=explain)
            self._check_still(number)
            self._file.record("contest.ask", form=form, seat=seat.number, **asked, **reply)

    async def guess(self, seat: Seat, fields: dict[str, str]) -> None:
        """Judge a guess, and hide another secret; raises Unwelcome for what is no guess."""
        form, text = fields.get("form", ""), fields.get("guess", "").strip()
        async with self._lock(seat):
            if self._is_done(form):
                return
            contest = self._file.state.contest
            number, possible = contest.number, TASKS[contest.task]
            if fields.get("round") != str(len(self._team(seat).rounds)):
                raise Unwelcome("another tab has guessed that secret: this is a new one")
            if text not in map(str, possible):
                some = " or ".join(possible) if isinstance(possible, tuple) else (
                    f"a whole number from {possible[0]} to {possible[-1]}"
                )  # fmt: skip
                raise Unwelcome(f"the guess is {some}")
            _, scenario, _ = await asyncio.to_thread(self._opened, seat)
            self._check_still(number)
            guess = text == "yes" if isinstance(possible, tuple) else int(text)
            hits, tries = self.attack.score(guess, scenario.truth)
            truth = scenario.truth
            shown = YES_NO[not truth] if isinstance(truth, bool) else str(truth)
            self._file.record(
                "contest.guess", form=form, seat=seat.number, guess=text, truth=shown,
                hits=hits, tries=tries, used=self._used(seat),
            )  # fmt: skip

    async def hand_in(self, seat: Seat, fields: dict[str, str]) -> None:
        """Take an attack file, which is then played; raises Unwelcome where there is no sandbox."""
        form, code = fields.get("form", ""), fields.get("code", "").replace("\r\n", "\n")
        async with self._lock(seat):
            if self._is_done(form) or not code.strip():
                return
            team = self._team(seat)
            if team.file and team.score is None:
                raise Unwelcome("your last file is being played: wait for its score")
            if await asyncio.to_thread(sandbox) is Sandbox.NONE:
                raise Unwelcome("files are not taken: this machine has no sandbox to run them in")
            self._file.record("contest.file", form=form, seat=seat.number, code=code)
            self._play(seat.number)

    def resume(self) -> None:
        """Play the files that a restart has interrupted."""
        for seat, team in self._file.state.contest.teams.items():
            if team.file and team.score is None:
                self._play(seat)

    async def close(self) -> None:
        """End the files that are being played: `resume` plays them again."""
        self._closing = True
        while self._tasks:
            end_all()
            await asyncio.sleep(0.1)

    def standings(self) -> list[Standing]:
        """The board: the best first, ranked as `dpdb lab --score` ranks."""
        seats, made = dict[int, int](), list[Row]()
        state = self._file.state
        for seat in state.present:
            for line in self._rows(seat):
                seats[len(made)] = seat.number
                made.append(replace(line, defence=str(len(made))))
        found = []
        for line in ranked(made):
            number = seats[int(line.defence)]
            by_hand = line.student == state.seats[number].name
            left = f"{self.left(state.seats[number]):.4g}" if by_hand else ""
            found.append(Standing(replace(line, defence=f"ε = {line.epsilon:g}"), number, left))
        return found

    def scores(self) -> list[Score]:
        """The table with the errors of files, to be exported."""
        teams = self._file.state.contest.teams
        errors = [
            Score(seat.name, None, (), str(told["error"]))
            for seat in self._file.state.present
            if (told := teams.get(seat.number, Team()).score) and "error" in told
        ]
        rows = [row for seat in self._file.state.present for row in self._rows(seat)]
        return [*(Score(each.student, None, (each,)) for each in rows), *errors]

    def left(self, seat: Seat) -> float:
        """The ε that is left of a team's secret."""
        return self._file.state.contest.epsilon - self._used(seat)

    def table(self) -> html.TableView:
        """The table that is asked about, with its columns."""
        return _table(self._file.state.contest.task)

    def _rows(self, seat: Seat) -> list[Row]:
        """The lines of a team: by hand, and by its file."""
        contest, team = self._file.state.contest, self._team(seat)
        found = []
        if team.rounds:
            played = (Played(each["hits"], each["tries"], each["used"]) for each in team.rounds)
            found.append(_by_hand(seat.name, contest.task, contest.epsilon, tuple(played)))
        if team.score and "row" in team.score:
            told = dict(team.score["row"])
            told |= {"used": tuple(told["used"]), "sandbox": Sandbox(told["sandbox"])}
            # Of many tries the best is luck in part, so the table tells which this was.
            which = f"file {team.files}" if team.files > 1 else "file"
            found.append(replace(Row(**told), student=f"{seat.name} · {which}"))
        return found

    def _used(self, seat: Seat) -> float:
        asked = self._team(seat).asked
        return float(asked[-1]["used"]) if asked else 0.0

    def _is_done(self, form: str) -> bool:
        """Whether a form has had its effect; raises Unwelcome while nothing may be sent."""
        if form in self._file.state.forms:
            return True
        if not self._file.state.contest.is_open(time.time()):
            raise Unwelcome("the clock stands: nothing was sent")
        return False

    def _team(self, seat: Seat) -> Team:
        return self._file.state.contest.teams.get(seat.number, Team())

    def _check_still(self, number: int) -> None:
        """Raise Unwelcome if another contest has begun since."""
        if self._file.state.contest.number != number:
            raise Unwelcome("another contest has begun: nothing was sent")

    def _is_wanted(self, seat: Seat, number: int, code: str) -> bool:
        """Whether the score of a file of that contest still counts."""
        now = self._file.state.contest.number, self._team(seat).file
        return not self._closing and now == (number, code)

    def _lock(self, seat: Seat) -> asyncio.Lock:
        return self._locks.setdefault(seat.number, asyncio.Lock())

    def _reply(self, seat: Seat, asked: Event, *, explain: bool) -> Event:
        """The answer to a statement as it is kept, and the ε that is used by then."""
        _, _, session = self._opened(seat)
        budget = Fraction(str(self._file.state.contest.epsilon))
        try:
            answer = _executed(session, asked, explain=explain)
        except DpdbError as error:
            told = {"error": printable(error.message), "hint": printable(error.hint or "")}
            return told | {"used": self._used(seat), "explain": explain}
        view = html.answer_view(answer)
        return {
            "explain": explain,
            "header": [name for name, _ in view.header],
            "rows": [list(each) for each in view.rows[:MOST_ROWS]],
            # The noise has a seed, so that a restart tells the same. Nobody in the class knows it.
            "lines": [each.removesuffix(_SEEDED) for each in view.lines],
            "outline": [[name, text.removesuffix(_SEEDED)] for name, text in view.outline],
            "used": float(budget - answer.balance.epsilon_left),
        }

    def _opened(self, seat: Seat) -> tuple[tuple[int, int], Scenario, Session]:
        """The team's secret and session; after a restart earlier statements are asked again."""
        contest, seed = self._file.state.contest, self._file.state.seed
        team = self._team(seat)
        which = (contest.number, len(team.rounds))
        if seat.number not in self._open or self._open[seat.number][0] != which:
            drawn = np.random.default_rng([seed, *which, seat.number])
            scenario = self.attack.scenario(drawn)
            folder = self._folder / f"{seat.number}-{which[0]}-{which[1]}"
            folder.mkdir(mode=0o700, exist_ok=True)
            policy = scenario.policy(folder, Fraction(str(contest.epsilon)), QUESTIONS)
            session = session_of(policy, seeded(int(drawn.integers(2**62))))
            for earlier in team.asked:
                if not (earlier["explain"] or "error" in earlier):
                    _executed(session, earlier, explain=False)
            self._open[seat.number] = which, scenario, session
        return self._open[seat.number]

    def _play(self, seat: int) -> None:
        task = asyncio.create_task(self._played(seat))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _played(self, number: int) -> None:
        """Play a team's file in its sandbox, and note the score."""
        contest, seat = self._file.state.contest, self._file.state.seats[number]
        which, code = contest.number, contest.teams[number].file
        async with self._playing:
            if not self._is_wanted(seat, which, code):
                return
            seed = secrets.randbits(62)
            rules = Rules(self.attack, [contest.epsilon], TRIALS, TIME_LIMIT, seed)
            done = await asyncio.to_thread(score, StudentFile("file", code), rules)
        if self._is_wanted(seat, which, code):
            private = [asdict(each) for each in done.rows if each.epsilon is not None]
            told = {"error": done.error} if done.error else {"row": private[0]}
            self._file.record("contest.score", seat=seat.number, **told)
            self._changed()


def _executed(session: Session, asked: Event, *, explain: bool) -> Answer:
    """The answer to a statement with its ε, if one is given; raises DpdbError."""
    statement, epsilon = asked["statement"], asked["epsilon"] or None
    if explain:
        return session.explain(statement, epsilon=epsilon)
    takes_none = statement.upper().startswith(_WITHOUT_OPTIONS)
    return session.execute(statement, epsilon=None if takes_none else epsilon)


@cache
def _attack(task: str) -> Attack:
    return find(task)


@lru_cache(maxsize=256)
def _by_hand(name: str, task: str, epsilon: float, played: tuple[Played, ...]) -> Row:
    """The line of guesses by hand; one is new where thirty are shown, and intervals take time."""
    defence = Protected(epsilon, QUESTIONS)
    return row(name, defence, _attack(task), played, Sandbox.BUBBLEWRAP)


@cache
def _table(task: str) -> html.TableView:
    scenario = _attack(task).scenario(np.random.default_rng(0))
    with TemporaryDirectory(prefix="dpdb-class-") as folder:
        return html.table_view(scenario.policy(Path(folder), Fraction(1), 1).tables[0])
