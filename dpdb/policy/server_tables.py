"""Tables of database servers and clusters, as a policy names them."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

from dpdb.errors import InvalidOption
from dpdb.policy.storage import Storage, server_kind
from dpdb.records import dataclass

POSTGRESQL = "postgresql"
SPARK = "spark"
_USUAL_SCHEMA = "public"


@dataclass(frozen=True)
class ServerTable:
    """A table of a PostgreSQL server, or of the catalog of a Spark cluster.

    In PostgreSQL `address` is the URI of a database, as libpq takes it: parts that are left out
    come from the environment. In Spark it is the URI of the cluster's master, or `spark://` alone
    where the environment names the master.
    """

    address: str
    schema: str
    table: str

    @property
    def source(self) -> str:
        """What a policy calls it, as `server_table` reads it; a password is left out."""
        parts = urlsplit(self.address)
        user, at, host = parts.netloc.rpartition("@")
        kept = [each for each in parse_qsl(parts.query) if each[0] != "password"]
        settings = urlencode([*kept, ("table", self._qualified_name)])
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}?{settings}"

    @property
    def place(self) -> str:
        """What messages call it; a password is left out."""
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}?table={self._qualified_name}"

    @property
    def _qualified_name(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def storage(self) -> Storage:
        """The kind of server that has the rows."""
        storage = server_kind(self.address)
        assert storage is not None
        return storage


def is_server_address(text: str) -> bool:
    """Whether a text names a server rather than a file."""
    return server_kind(text) is not None


def server_table(source: str, usual_name: str | None = None) -> ServerTable:
    """The table that a source such as `postgresql:///hospital?table=public.people` names.

    Where it names none, it is `usual_name`. Raises InvalidOption.
    """
    try:
        parts = urlsplit(source)
        settings = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidOption("source is not the address of a database") from None
    if server_kind(f"{parts.scheme}://") is None:
        raise InvalidOption(
            "source is the address of a PostgreSQL database or of a Spark cluster",
            hint="postgresql:///NAME or spark:///",
        )
    named = [value for key, value in settings if key == "table"] or [usual_name or ""]
    schema, _, table = named[-1].rpartition(".")
    if not table or len(named) > 1:
        raise InvalidOption("source names one table, as postgresql:///hospital?table=people does")
    rest = urlencode([(key, value) for key, value in settings if key != "table"])
    if parts.scheme == SPARK:
        if rest or parts.path.strip("/"):
            raise InvalidOption("a source in Spark is spark://HOST:PORT?table=DATABASE.TABLE")
        return ServerTable(f"{SPARK}://{parts.netloc}", schema, table)
    address = f"{POSTGRESQL}://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    return ServerTable(address, schema or _USUAL_SCHEMA, table)
