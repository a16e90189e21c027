"""The built-in engine as a child of `up`: which ComfyUI there is to run on, if any."""

import asyncio
import contextlib
import re
import stat
from pathlib import Path

from comfyfleet.cli.up.child import Child
from comfyfleet.demo.previews import samples_can_be_drawn
from comfyfleet.settings import Settings

HOST = "127.0.0.1"
ANNOUNCEMENT = re.compile(r"^Engine on (http://[^\s,]+:(\d+)),")
ANNOUNCED_WITHIN_S = 20.0
STOPS_WITHIN_S = 3.0
INSTALL = "pip install 'comfyfleet[engine]'"


class EngineChild:
    """On a free port, which it keeps when it is started again: the worker knows it by its address."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self._port = folder, port
        self._url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.child = Child("engine", self._arguments, heard=self._listen_for_address)

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        with contextlib.suppress(PermissionError):
            self.folder.chmod(stat.S_IRWXU)  # older homes have it open
        self.child.start()

    async def url(self) -> str | None:
        """Where it listens; None: it did not come up in time. It is still tried again: `url_at_last` waits for it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANNOUNCED_WITHIN_S):
                return await self.url_at_last()
        return None

    async def url_at_last(self) -> str:
        return await asyncio.shield(self._url)

    async def stop(self) -> None:
        await self.child.stop([STOPS_WITHIN_S])

    def _arguments(self) -> list[str]:
        return ["engine", "--host", HOST, "--port", str(self._port), "--dir", str(self.folder)]

    def _listen_for_address(self, line: str) -> None:
        if (said := ANNOUNCEMENT.match(line)) and not self._url.done():
            self._port = int(said[2])
            self._url.set_result(said[1])


def engine_of(settings: Settings) -> EngineChild | None:
    """None: not wanted, or not possible."""
    if not settings.engine or settings.comfyui is not None or not engine_is_installed():
        return None
    return EngineChild(settings.home.resolve() / "engine", settings.engine_port)


def engine_is_installed() -> bool:
    return samples_can_be_drawn()
