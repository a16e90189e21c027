"""A server that does what a test says, behind the connector's protocol. It runs prompts one after the other."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import OutputGone
from comfyfleet.comfy.model import (
    Absent,
    Cancelled,
    Completed,
    Device,
    Failed,
    FailureClass,
    FetchedFile,
    Found,
    Outcome,
    OutputFile,
    Pending,
    Preview,
    Progress,
    Prompt,
    Queued,
    ServerFacts,
    Submitted,
    Update,
    UploadedFile,
    UploadKind,
)
from comfyfleet.kernel.errors import FleetError

Script = Callable[[Prompt], Outcome | FleetError | None]


def graph(shape: str = "Draw", **inputs: Any) -> dict[str, Any]:
    """Graphs with other class names have other structures; other inputs make other contents only."""
    return {
        "1": {"class_type": shape, "inputs": {"text": "a cat", **inputs}},
        "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "x"}},
    }


def failing(failure: FailureClass, *shapes: str, times: int = 10**9) -> Script:
    """Fails prompts of these shapes (of all, when none is named), so many times."""
    left = [times]

    def script(prompt: Prompt) -> Outcome | None:
        if (shapes and prompt.graph["1"]["class_type"] not in shapes) or not left[0]:
            return None
        left[0] -= 1
        return Failed(failure, f"{failure} as the test wants", node="1", node_class="Draw")

    return script


class Scripted:
    provider = "self_hosted"

    def __init__(
        self,
        name: str,
        *,
        seconds: float = 1.0,
        script: Script | None = None,
        refuse: Script | None = None,
        vram_bytes: int = 0,
        online: bool = True,
        deaf_to_cancel: bool = False,
    ) -> None:
        self.name = name
        self.seconds = seconds
        self.script = script or (lambda _: None)
        self.refuse = refuse or (lambda _: None)
        self.vram_bytes = vram_bytes
        self.deaf_to_cancel = deaf_to_cancel
        self.submit_s = 0.0
        self.upload_s = 0.0
        self.fetch_s = 0.0
        self.ran: list[str] = []  # shapes, in the order they were run
        self.texts: list[Any] = []
        self.uploads: list[str] = []
        self.prompts: list[Prompt] = []
        self.cancelled: list[str] = []
        self.freed_count = 0
        self.gone_outputs = 0
        self.fetch_errors: list[FleetError] = []
        self.closed = False
        self.idle_s = 0.0  # between two prompts, from the first to the last
        self._online = online
        self._tells: list[Callable[[bool], None]] = []
        self._pending: asyncio.Queue[Prompt] = asyncio.Queue()
        self._told: dict[str, asyncio.Queue[Update | Outcome]] = {}
        self._withdrawn: set[str] = set()
        self._refused = False
        self._running: asyncio.Task[Outcome] | None = None
        self._running_id: str | None = None
        self._executor: asyncio.Task[None] | None = None

    @property
    def online(self) -> bool:
        return self._online

    @property
    def refused(self) -> bool:
        return self._refused

    def set_online(self, online: bool, *, refused: bool = False) -> None:
        self._online, self._refused = online, refused
        for tell in tuple(self._tells):
            tell(online)

    def follow(self, tell: Callable[[bool], None]) -> Callable[[], None]:
        self._tells.append(tell)
        return lambda: self._tells.remove(tell) if tell in self._tells else None

    def own_id(self, prompt_id: str) -> str:
        return prompt_id

    async def submit(self, prompt: Prompt) -> Submitted:
        await asyncio.sleep(self.submit_s)
        refused = self.refuse(prompt)
        if isinstance(refused, FleetError):
            raise refused
        self.prompts.append(prompt)
        self._told[prompt.prompt_id] = asyncio.Queue()
        self._told[prompt.prompt_id].put_nowait(Queued(self._pending.qsize()))
        self._pending.put_nowait(prompt)
        if self._executor is None:
            self._executor = asyncio.create_task(self._execute())
        return Submitted(prompt.prompt_id, len(self.prompts))

    async def watch(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[Update | Outcome]:
        told = self._told[prompt.prompt_id]
        try:
            async with asyncio.timeout(deadline_s):
                while True:
                    heard = await told.get()
                    yield heard
                    if isinstance(heard, Completed | Failed | Cancelled) or type(heard).__name__ == "Returned":
                        return
        except TimeoutError:
            yield Failed(FailureClass.TIMEOUT, f"not done after {deadline_s:g} s")

    async def cancel(self, prompt_id: str) -> bool:
        self.cancelled.append(prompt_id)
        if self.deaf_to_cancel:
            await asyncio.Event().wait()
        if prompt_id not in self._told:
            return False
        if prompt_id == self._running_id and self._running is not None:
            self._running.cancel()
        else:
            self._withdrawn.add(prompt_id)
            self._told[prompt_id].put_nowait(Cancelled())
        return True

    async def fetch(self, output: OutputFile, to: Path) -> FetchedFile:
        await asyncio.sleep(self.fetch_s)
        if self.fetch_errors:
            raise self.fetch_errors.pop(0)
        if self.gone_outputs:
            self.gone_outputs -= 1
            raise OutputGone(self.name, output=output)
        await asyncio.to_thread(to.write_bytes, b"picture")
        return FetchedFile(output, to, 7, "0" * 64)

    async def upload(
        self, source: Path | bytes, *, name: str, kind: UploadKind = "image", subfolder: str = ""
    ) -> UploadedFile:
        await asyncio.sleep(self.upload_s)
        self.uploads.append(name)
        return UploadedFile(f"{self.name}-{name}", subfolder)

    async def find(self, prompt_id: str) -> Found:
        return Pending(0) if prompt_id in self._told else Absent()

    async def forget(self, prompt_id: str) -> None: ...

    async def free(self) -> None:
        self.freed_count += 1

    async def describe(self) -> ServerFacts:
        return ServerFacts("1.0", (Device("card", "cuda", self.vram_bytes, self.vram_bytes),))

    async def object_info(self, node_class: str | None = None) -> Mapping[str, Any]:
        return {}

    async def close(self) -> None:
        self.closed = True
        if self._executor is not None:
            self._executor.cancel()
            await asyncio.gather(self._executor, return_exceptions=True)

    async def _execute(self) -> None:
        clock = asyncio.get_running_loop().time
        free_since = clock()
        while True:
            prompt = await self._pending.get()
            if prompt.prompt_id in self._withdrawn:
                continue
            self.idle_s += clock() - free_since
            self.ran.append(prompt.graph["1"]["class_type"])
            self.texts.append(prompt.graph["1"]["inputs"].get("text"))
            self._running_id = prompt.prompt_id
            self._running = asyncio.create_task(self._run(prompt))
            try:
                outcome: Outcome = await self._running
            except asyncio.CancelledError:
                if self.closed:
                    raise
                outcome = Cancelled()
            self._running_id = None
            self._told[prompt.prompt_id].put_nowait(outcome)
            free_since = clock()

    async def _run(self, prompt: Prompt) -> Outcome:
        told = self._told[prompt.prompt_id]
        told.put_nowait(Progress(0.0, "1", "Draw"))
        await asyncio.sleep(self.seconds / 2)
        told.put_nowait(Progress(0.5, "1", "Draw", 1, 2))
        told.put_nowait(Preview("1", "image/png", b"tiny"))
        await asyncio.sleep(self.seconds / 2)
        outcome = self.script(prompt)
        if isinstance(outcome, FleetError):
            raise outcome
        if outcome is not None:
            return outcome
        files = (OutputFile("2", "images", "x_1.png", media_type="image/png"),)
        return Completed(files, {"1": self.seconds}, frozenset({"2"}))


def check_protocol(server: Scripted) -> Connector:
    return server
