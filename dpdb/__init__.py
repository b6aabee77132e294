"""A statistical database that answers SQL about tables with differential privacy.

    import dpdb

    db = dpdb.connect("people.csv", epsilon=1, queries=10)
    db.explain("SELECT AVG(age) FROM people").cost      # what it would take, for nothing
    answer = db.execute("SELECT AVG(age) AS mean FROM people WHERE zip = ?", [10025])
    answer.scalar(), answer.intervals, answer.cost, db.balance
    answer.df(intervals=True)

`help(dpdb.connect)` says what can be given, `dpdb help python` is the page of the manual. In a
notebook, `%load_ext dpdb` gives `%dpdb people.csv` and `%%dpdb`.

Where a statement goes, room by room; each room's docstring says what the room may not know:

    interfaces   the command line, the prompt, the notebook
    dbapi        a session as a connection by PEP 249; SQLAlchemy's dialect is one of the doors
    lab          attacks, and studies of risk and accuracy
    server       people and programs ask over the network, from one lasting budget
    session      from a statement to its answer: price, debit, exact results, noise
    answers      after the noise: estimates, intervals, tables
    engines      before the noise: exact results from a file
    trial        rows made up from a policy, to practise on
    vectors      columns, and the expressions evaluated on them
    ledger       what has been spent, and what is left
    sql          from text to a query
    plan         from a query and the policy to releases, their noise and their price
    privacy      sensitivity, mechanisms, noise, composition
    policy       what is public about the data
    errors       everything that can be refused

`import dpdb` loads none of them: a name of the list below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdb import dbapi
    from dpdb.answers.answer import Answer
    from dpdb.errors import (
        BudgetExceeded,
        Busy,
        DataFileError,
        DpdbError,
        InternalError,
        InvalidOption,
        LedgerError,
        MissingBounds,
        OutOfResources,
        PolicyError,
        ServerError,
        SetupError,
        StatementError,
        StudentFileError,
        SyntaxFault,
        TooLarge,
        TypeMismatch,
        UnknownName,
        Unsupported,
        UsageError,
    )
    from dpdb.policy.catalog import Policy
    from dpdb.session.connect import connect
    from dpdb.session.remote.remote_session import RemoteSession
    from dpdb.session.session import Session

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "BudgetExceeded",
    "Busy",
    "DataFileError",
    "DpdbError",
    "InternalError",
    "InvalidOption",
    "LedgerError",
    "MissingBounds",
    "OutOfResources",
    "Policy",
    "PolicyError",
    "RemoteSession",
    "ServerError",
    "Session",
    "SetupError",
    "StatementError",
    "StudentFileError",
    "SyntaxFault",
    "TooLarge",
    "TypeMismatch",
    "UnknownName",
    "Unsupported",
    "UsageError",
    "__version__",
    "connect",
    "dbapi",
]

_MODULES = {
    "Answer": "dpdb.answers.answer",
    "Policy": "dpdb.policy.catalog",
    "RemoteSession": "dpdb.session.remote.remote_session",
    "Session": "dpdb.session.session",
    "connect": "dpdb.session.connect",
    "load_ipython_extension": "dpdb.interfaces.jupyter",  # what %load_ext looks for
}
"""The modules that define names; all others of `__all__` are errors."""


def __getattr__(name: str) -> object:
    if name not in (*__all__, *_MODULES):
        raise AttributeError(f"module 'dpdb' has no attribute {name!r}")
    if name == "dbapi":
        return import_module("dpdb.dbapi")
    return getattr(import_module(_MODULES.get(name, "dpdb.errors")), name)


def __dir__() -> list[str]:
    return __all__
