"""Released values that are kept: rows of a ledger, each with a seal that needs the ledger's key.

They are noisy values alone, so they may be shown again; a value that anybody has changed is never
shown. They are not part of the chain of entries: a release that is missing is drawn anew. Where a
coarser one of the same is left, that costs only the difference from it, which is less than two
independent draws tell: who can write the ledger is not held by it.
"""

from __future__ import annotations

import hmac
from abc import abstractmethod
from typing import Protocol

from dpdb.records import dataclass

_PURPOSE = b"a release that is kept"
"""Sets these seals apart from the digests of data, which have the same key."""


@dataclass(frozen=True)
class Kept:
    """What was released for a statement, as `text`, under its scope, to whom it was shown."""

    scope: str
    who: str
    text: str

    def seal(self, key: bytes) -> bytes:
        """The message authentication code of all of it."""
        message = repr((self.scope, self.who, self.text)).encode()
        own = hmac.digest(key, _PURPOSE, "sha256")
        return hmac.digest(own, message, "sha256")


@dataclass(frozen=True)
class SealedRelease:
    """A release with its number in the ledger and its seal."""

    number: int
    kept: Kept
    seal: bytes

    def is_genuine(self, key: bytes) -> bool:
        """Whether the seal was made with this key for these values."""
        return self.kept.seal(key) == self.seal


class ReleaseStore(Protocol):
    """Keeps what was released of one version of the data."""

    @property
    @abstractmethod
    def asker(self) -> str:
        """To whom releases are shown."""

    @abstractmethod
    def kept(self, scope: str, after: int) -> tuple[SealedRelease, ...]:
        """The releases under a scope, to whomever, with larger numbers than `after`."""

    @abstractmethod
    def keep(self, scope: str, text: str, after: int | None = None) -> int | None:
        """Keep what is about to be shown to the asker, and give its number; it is recorded then.

        None, and nothing is kept, where there are releases with larger numbers than `after`.
        """
