import asyncio
from threading import Event

import pytest

from dpdb.server.limits import DAY, HOUR, Lockout, Places, Rates, network
from dpdb.server.logins import MOST_SESSIONS, MOST_WAITING, Logins, Sessions


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Folk:
    """Accounts whose password is the name backwards."""

    def __init__(self, *names: str):
        self.marks = dict.fromkeys(names, "first")
        self.asked: list[str] = []

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.marks)

    def by_password(self, name: str, password: str) -> str | None:
        self.asked.append(name)
        return name if name in self.marks and password == name[::-1] else None

    def by_token(self, token: str) -> str | None:
        raise AssertionError

    def mark(self, name: str) -> str | None:
        return self.marks.get(name)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folk():
    return Folk("alice", "bob")


@pytest.fixture
def logins(folk, clock):
    made = Logins(folk, clock)
    yield made
    made.close()


def tried(logins, name, password="wrong", address="192.0.2.1"):
    return asyncio.run(logins.login(name, password, address)) is not None


def test_a_login_opens_a_session_that_its_secret_alone_finds(logins, clock):
    secret, session = asyncio.run(logins.login("alice", "ecila", "192.0.2.1"))
    assert session.analyst == "alice"
    assert logins.sessions.find(secret) is session
    assert session.is_own(session.csrf)
    for wrong in ("", session.csrf, secret + "x", "\udc80", "é"):
        assert logins.sessions.find(wrong) is None
        assert wrong == session.csrf or not session.is_own(wrong)
    again, other = asyncio.run(logins.login("alice", "ecila", "192.0.2.1"))
    assert again != secret
    assert not other.is_own(session.csrf)
    logins.sessions.end(secret)
    assert logins.sessions.find(secret) is None
    assert logins.sessions.find(again) is other


def test_a_session_ends_after_half_an_hour_of_silence_and_after_twelve_hours(logins, clock):
    sessions = logins.sessions
    quiet, _ = sessions.open("alice")
    busy, _ = sessions.open("alice")
    for _ in range(24):
        clock.now += 1799
        assert sessions.find(busy) is not None
    assert sessions.find(quiet) is None
    clock.now += 25
    assert sessions.find(busy) is None


def test_sessions_end_with_their_account_and_when_it_is_made_anew(logins, folk):
    secret, _ = logins.sessions.open("alice")
    other, _ = logins.sessions.open("bob")
    folk.marks["alice"] = "second"
    assert logins.sessions.find(secret) is None
    del folk.marks["bob"]
    assert logins.sessions.find(other) is None
    late, _ = logins.sessions.open("bob")  # removed between check and session
    assert logins.sessions.find(late) is None


def test_an_analyst_has_a_bounded_number_of_sessions(clock):
    sessions = Sessions(lambda _: "", clock)
    secrets = [sessions.open("alice")[0] for _ in range(MOST_SESSIONS)]
    kept, _ = sessions.open("bob")
    clock.now += 1
    for secret in secrets[1:]:
        sessions.find(secret)
    sessions.open("alice")
    assert sessions.find(secrets[0]) is None
    assert all(sessions.find(secret) for secret in [*secrets[1:], kept])


def test_five_tries_are_free_and_then_each_doubles_the_pause(logins, folk, clock):
    for name in ("nobody", "alice"):
        for place in range(5):
            assert not tried(logins, name, address=f"192.0.2.{place}")
        for place, pause in enumerate([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]):
            clock.now += pause - 0.5
            tried(logins, name, address=f"198.51.100.{place}")
            asked = len(folk.asked)
            clock.now += 0.5
            tried(logins, name, address=f"198.51.100.{place}")
            assert folk.asked[asked:] == [name]
        assert folk.asked.count(name) == 17
    # The right password is not tried during a pause, and forgives all when it is.
    assert not tried(logins, "alice", "ecila", "203.0.113.1")
    clock.now += 900
    assert tried(logins, "alice", "ecila", "203.0.113.1")
    assert not tried(logins, "alice", address="203.0.113.2")
    assert tried(logins, "alice", "ecila", "203.0.113.1")


def test_an_address_is_paused_whatever_names_it_tries_and_whoever_logs_in_there(logins, clock):
    for name in ("a", "b", "c"):
        assert not tried(logins, name)
    assert tried(logins, "alice", "ecila")
    for name in ("d", "e"):
        assert not tried(logins, name)
    assert not tried(logins, "alice", "ecila")
    assert tried(logins, "alice", "ecila", "192.0.2.2")
    clock.now += 1
    assert tried(logins, "alice", "ecila")
    assert tried(logins, "alice", "ecila"), "a success has no pause after it"


def test_other_ways_to_write_a_name_have_no_tries_of_their_own(logins, folk, clock):
    folk.marks["Åse"] = "first"
    long = "Å" * 400
    for place, name in enumerate(
        ["Åse", "A\u030ase", "\u212bse", long, long + "x", long + "y"] * 3
    ):
        tried(logins, name, address=f"192.0.2.{place}")
    assert len(folk.asked) == 10
    assert set(folk.asked) == {"Åse", long}


def test_thousands_of_failures_are_no_error(clock):
    lock = Lockout(clock, HOUR)
    for _ in range(3000):
        lock.begin("a")
        lock.end("a", failed=True)
    clock.now += 899
    assert not lock.is_open("a")
    clock.now += 1
    assert lock.is_open("a")


def test_an_hour_after_the_last_failure_all_are_forgotten(clock):
    lock = Lockout(clock, HOUR)
    for _ in range(20):
        lock.begin("a")
        lock.end("a", failed=True)
    clock.now += HOUR
    for _ in range(4):
        lock.begin("a")
        lock.end("a", failed=True)
        assert lock.is_open("a")


def test_few_passwords_of_a_name_can_be_tried_in_a_day(clock):
    lock, tries = Lockout(clock, DAY), 0
    for _ in range(int(DAY)):
        while lock.is_open("alice"):
            lock.begin("alice")
            lock.end("alice", failed=True)
            tries += 1
        clock.now += 1
    assert 100 < tries <= 120
    clock.now += DAY
    assert lock.is_open("alice")


def test_a_flood_of_names_washes_out_no_failures(clock):
    lock = Lockout(clock, HOUR, most=10)
    for _ in range(6):
        lock.begin("alice")
        lock.end("alice", failed=True)
    for other in map(str, range(1000)):
        lock.begin(other)
        lock.end(other, failed=True)
    assert not lock.is_open("alice")
    assert len(lock._tries) == 10


def test_tries_at_once_are_not_more_than_tries_in_turn(folk, clock):
    gate = Event()

    class Slow(Folk):
        def by_password(self, name, password):
            gate.wait(10)
            return super().by_password(name, password)

    async def flood(logins):
        tries = [
            asyncio.create_task(logins.login("alice", "wrong", f"192.0.2.{place}"))
            for place in range(100)
        ]
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(*tries)

    slow = Slow("alice")
    logins = Logins(slow, clock)
    assert asyncio.run(flood(logins)) == [None] * 100
    assert len(slow.asked) == 5
    logins.close()


def test_two_checks_run_at_once_and_a_bounded_number_waits(clock):
    gate, running = Event(), list[int]()

    class Slow(Folk):
        at_once = 0

        def by_password(self, name, password):
            self.at_once += 1
            running.append(self.at_once)
            gate.wait(10)
            self.at_once -= 1
            return super().by_password(name, password)

    async def flood(logins):
        names = [f"name {number}" for number in range(60)]
        tries = [
            asyncio.create_task(logins.login(name, name[::-1], f"192.0.2.{number}"))
            for number, name in enumerate(names)
        ]
        await asyncio.sleep(0.05)
        gate.set()
        return [opened is not None for opened in await asyncio.gather(*tries)]

    slow = Slow(*(f"name {number}" for number in range(60)))
    logins = Logins(slow, clock)
    assert asyncio.run(flood(logins)) == [number < MOST_WAITING for number in range(60)]
    assert max(running) <= 2
    logins.close()


def test_a_browser_that_goes_away_has_tried(logins, folk, clock):
    async def leave():
        task = asyncio.create_task(logins.login("alice", "wrong", "192.0.2.1"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    for _ in range(5):
        asyncio.run(leave())
    assert not tried(logins, "alice", "ecila", "192.0.2.2")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::1", True),
        ("unix", "unix", True),
    ],
)
def test_an_address_stands_for_who_holds_it(one, other, same):
    assert (network(one) == network(other)) is same


def test_a_rate_allows_a_burst_and_then_so_many_a_second(clock):
    rates = Rates(10, 3, clock, most=2)
    assert [rates.allows("a") for _ in range(4)] == [True, True, True, False]
    clock.now += 0.25
    assert [rates.allows("a") for _ in range(3)] == [True, True, False]
    assert rates.allows("b")
    clock.now += 1e6
    assert [rates.allows("a") for _ in range(4)] == [True, True, True, False]
    assert rates.allows("c")  # and b, which was used before a, is forgotten
    assert set(rates._left) == {"a", "c"}


def test_connections_are_counted_by_key_and_in_all():
    places = Places(2, 3)
    assert [places.take(key) for key in ("a", "a", "a", "b", "b")] == [
        True,
        True,
        False,
        True,
        False,
    ]
    places.leave("a")
    assert places.take("b")
    for key in ("a", "b", "b"):
        places.leave(key)
    assert not places._taken
