"""A class on a port of the loopback, its teacher, and its students."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

from dpdb.lab.live.app import ClassServer, LiveClass
from dpdb.lab.live.state import ClassFile
from tests.server.served import Response, Served


class Taught(Served):
    """A server of a class, in a thread of its own."""

    def __init__(self, folder: Path, host: str = "127.0.0.1"):
        self.file = ClassFile(folder / "9b.class", "9b")
        (folder / "data").mkdir(exist_ok=True)
        self.live = LiveClass(self.file, folder / "data")
        self._socket = socket.create_server((host, 0), backlog=128)
        self.port = self._socket.getsockname()[1]
        self.origin = f"http://{host}:{self.port}"
        self._server = ClassServer(self.live, {f"{host}:{self.port}"})
        self._thread = threading.Thread(target=self._run)

    async def _serve(self) -> None:
        await self._server.serve([self._socket])

    def __exit__(self, *_: object) -> None:
        super().__exit__(*_)
        self.file.close()

    def _run(self) -> None:
        asyncio.run(self._serve())

    @property
    def teacher(self) -> str:
        """The path of the teacher's link."""
        return f"/t/{self.file.state.teacher}"

    @property
    def board(self) -> str:
        """The path of the projector's link."""
        return f"/t/{self.file.state.board}"

    def join(self, name: str, cookie: str = "") -> tuple[Response, str]:
        """The answer to joining under a name, and the browser's cookie."""
        cookie = cookie or self.get("/").cookie
        fields = {"code": self.file.state.code, "name": name}
        return self.post("/join", fields, cookie), cookie

    def teach(self, *buttons: str, **fields: str) -> None:
        """Press buttons of the teacher's page."""
        cookie = self.get(self.teacher).cookie
        for button in buttons:
            assert self.post("/teach", {"do": button} | fields, cookie).status == 303
