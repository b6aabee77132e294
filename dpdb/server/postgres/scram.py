"""SCRAM-SHA-256, the server's side (RFC 5802, 7677): a token is proved, and never sent.

A name without a token takes the same messages and the same work: no proof fits its verifier.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from dpdb.server.postgres.protocol import Malformed, utf8

MECHANISM = "SCRAM-SHA-256"


class Exchange:
    """A login of one name."""

    def __init__(self, verifier: str | None, decoy: str):
        """`verifier` is as `dpdb.ledger.people.scram_verifier` writes it; None for no token.

        Then `decoy` stands for it, which is the same whenever the name is tried.
        """
        self._known = verifier is not None
        _, turns, keys = (verifier or decoy).split("$")
        self._turns, self._salt = turns.split(":")
        self._stored, self._server = map(base64.b64decode, keys.split(":"))
        self._bare = self._first = self._header = ""
        self._nonce = ""

    def first(self, sent: bytes) -> bytes:
        """The answer to the client's first message; raises Malformed.

        The name in it is not read, as in PostgreSQL: that of the connection's start counts.
        """
        whole = utf8(sent)
        flag, _, after = whole.partition(",")
        identity, _, self._bare = after.partition(",")
        name, _, nonce = self._bare.partition(",")
        if flag not in ("n", "y") or identity or not name.startswith("n="):
            raise Malformed("SCRAM without channel binding is spoken")
        own = nonce.partition(",")[0]
        if not own.startswith("r=") or len(own) < 10:
            raise Malformed("SCRAM needs a nonce")
        self._header = f"{flag},{identity},"
        self._nonce = own[2:] + secrets.token_urlsafe(18)
        self._first = f"r={self._nonce},s={self._salt},i={self._turns}"
        return self._first.encode()

    def final(self, sent: bytes) -> bytes | None:
        """The answer to the client's last message; None where it proves no token."""
        without, found, proof = utf8(sent).rpartition(",p=")
        channel = base64.b64encode(self._header.encode()).decode()
        if not found or without != f"c={channel},r={self._nonce}":
            return None
        try:
            proved = base64.b64decode(proof, validate=True)
        except ValueError:
            return None
        signed = ",".join((self._bare, self._first, without)).encode()
        signature = hmac.digest(self._stored, signed, "sha256")
        if len(proved) != len(signature):
            return None
        key = bytes(a ^ b for a, b in zip(proved, signature, strict=True))
        fits = hmac.compare_digest(hashlib.sha256(key).digest(), self._stored)
        answer = base64.b64encode(hmac.digest(self._server, signed, "sha256"))
        return b"v=" + answer if fits and self._known else None
