"""Limits by name and by address: failed logins, requests a second, connections at once.

Each limit holds a public number of keys and forgets by a stated rule, so that a flood of made-up
names fills no memory. None of it is kept on the disk: a restart forgets all.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address

from dpdb.records import dataclass

Clock = Callable[[], float]
"""Seconds from any start, which never go back, such as `time.monotonic`."""
FREE = 5
"""The failed logins that have no consequence."""
LONGEST_LOCK = 900.0
DAY, HOUR = 86400.0, 3600.0
MOST_KEYS = 10_000
LONGEST_KEY = 100


def network(address: str) -> str:
    """The part of an address that one party holds: of IPv6 the first 64 bits.

    What is no address, such as the name of a socket, stands for itself.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:LONGEST_KEY]
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    return parsed.packed[:8].hex()


@dataclass
class _Tries:
    """The failures of a key, and the tries that have no result yet."""

    failures: int = 0
    last: float = 0.0
    """When the last failure was."""
    pending: int = 0


class Lockout:
    """Growing pauses after failed logins, of whatever key: one that does not exist fails, too.

    A try counts from its beginning: tries at once are not more than tries in turn. When `MOST_KEYS`
    keys are known, the one with the fewest failures is forgotten, of these the oldest. So nobody
    washes out the failures of a name with other names that are tried once.
    """

    def __init__(self, clock: Clock, forgotten: float, most: int = MOST_KEYS):
        """All failures of a key are forgotten `forgotten` seconds after the last."""
        self._clock, self._forgotten, self._most = clock, forgotten, most
        self._tries: dict[str, _Tries] = {}

    def is_open(self, key: str) -> bool:
        """Whether another try may begin."""
        tries, now = self._tries.get(key), self._clock()
        if tries is None:
            return True
        failures = self._failures(tries, now)
        lock = min(2.0 ** min(failures - FREE, 10), LONGEST_LOCK) if failures >= FREE else 0.0
        return now >= tries.last + lock and (not tries.pending or failures + tries.pending < FREE)

    def begin(self, key: str) -> None:
        """Note a try, which `end` ends."""
        if key not in self._tries and len(self._tries) >= self._most:
            now = self._clock()
            idle = [
                (self._failures(t, now), t.last, k) for k, t in self._tries.items() if not t.pending
            ]
            if idle:
                del self._tries[min(idle)[2]]
        self._tries.setdefault(key, _Tries()).pending += 1

    def end(self, key: str, *, failed: bool) -> None:
        """Note how a try ended; a success forgives no failure before it (see `forgive`)."""
        tries, now = self._tries[key], self._clock()
        tries.pending -= 1
        if failed:
            tries.failures, tries.last = self._failures(tries, now) + 1, now
        elif not (tries.failures or tries.pending):
            del self._tries[key]

    def forgive(self, key: str) -> None:
        """Forget the failures of a key."""
        if key in self._tries:
            self._tries[key].failures = 0

    def _failures(self, tries: _Tries, now: float) -> int:
        """The failures that are not forgotten."""
        return tries.failures if now - tries.last < self._forgotten else 0


class Rates:
    """At most `burst` requests of a key at once, and `rate` a second in the long run.

    A token bucket; one that has not been used for the longest time is forgotten, and so full.
    """

    def __init__(self, rate: float, burst: int, clock: Clock, most: int = MOST_KEYS):
        self._rate, self._burst, self._clock, self._most = rate, burst, clock, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, key: str) -> bool:
        """Whether the key may make another request now; then it is counted."""
        now = self._clock()
        left, then = self._left.pop(key, (float(self._burst), now))
        left = min(left + (now - then) * self._rate, float(self._burst))
        allowed = left >= 1
        self._left[key] = (left - allowed, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return allowed

    def forgive(self, key: str) -> None:
        """Give back what one request of the key took: it was none of those that are limited."""
        if key in self._left:
            left, then = self._left[key]
            self._left[key] = (min(left + 1, float(self._burst)), then)


class Places:
    """At most `each` connections of a key at once, and `in_all` of all keys."""

    def __init__(self, each: int, in_all: int):
        self._each, self._in_all = each, in_all
        self._taken: Counter[str] = Counter()

    def take(self, key: str) -> bool:
        """Whether the key may have another connection; then `leave` gives it back."""
        if self._taken[key] >= self._each or self._taken.total() >= self._in_all:
            return False
        self._taken[key] += 1
        return True

    def leave(self, key: str) -> None:
        """Give a connection back."""
        self._taken[key] -= 1
        if self._taken[key] <= 0:
            del self._taken[key]
