"""`dpdb mcp`: a session for an assistant, over standard input and output."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from dpdb.errors import UsageError
from dpdb.interfaces.cli.arguments import add_session_arguments, policy_for_arguments
from dpdb.interfaces.cli.parsers import Parser
from dpdb.policy.catalog import Policy
from dpdb.server.messages import Action, Request
from dpdb.session.connect import session_on

if TYPE_CHECKING:
    from dpdb.answers.answer import Answer
    from dpdb.session.session import Session

PASSING = (
    "note: this budget is of one process, and each start has a new one; [budget] name = … in the "
    "policy and dpdb budget open make it last"
)


def main(words: list[str]) -> int:
    """Run `dpdb mcp` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    policy = policy_for_arguments(options)
    try:
        import anyio  # noqa: PLC0415 (optional)
        from mcp.server.stdio import stdio_server  # noqa: PLC0415

        from dpdb.server.http.assistants import assistant_server  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UsageError("dpdb mcp needs mcp", hint='pip install "dpdb[mcp]"') from None
    if is_passing(policy):
        print(PASSING, file=sys.stderr)
    with session_on(
        policy, teach=options.teach, seed=options.seed, analyst=options.analyst
    ) as session:
        server = assistant_server(SessionAsker(session), lambda _: "")

        async def serve() -> None:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())

        anyio.run(serve)
    return 0


def is_passing(policy: Policy) -> bool:
    """Whether the budget ends with the process, though answers are of data."""
    return policy.lasting is None and not policy.is_trial


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb mcp`."""
    result = Parser(
        "dpdb mcp",
        "[FILE.csv | POLICY.toml]... [options]",
        "Let an assistant ask, by the Model Context Protocol over standard input and output: it is "
        "an analyst with a budget, and sees no row. --analyst names it in a lasting budget.",
    )
    add_session_arguments(result)
    return result


class SessionAsker:
    """Asks a session of this process, in a thread: an answer leaves on a tick."""

    def __init__(self, session: Session):
        self._session = session

    async def ask(self, request: Request) -> Answer:
        """The answer; what is cancelled after its charge has paid."""
        import anyio.to_thread  # noqa: PLC0415 (optional)

        return await anyio.to_thread.run_sync(self._answer, request)

    def _answer(self, request: Request) -> Answer:
        asks = {Action.EXECUTE: self._session.execute, Action.EXPLAIN: self._session.explain}
        return asks[request.action](
            request.text, request.parameters, epsilon=request.epsilon, delta=request.delta
        )
