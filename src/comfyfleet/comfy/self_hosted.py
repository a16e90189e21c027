"""A ComfyUI of one's own, as a connector: HTTP for what is asked, one socket for what is told."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import httpx2

from comfyfleet.comfy.address import Address, parse_address
from comfyfleet.comfy.client import ComfyClient
from comfyfleet.comfy.errors import AccessRefused, CancelUnconfirmed, ServerUnreachable
from comfyfleet.comfy.feed import Feed
from comfyfleet.comfy.fetch import Tell
from comfyfleet.comfy.health import Patience, look_for
from comfyfleet.comfy.limits import DEFAULT_LIMITS, Limits
from comfyfleet.comfy.messages import Disconnected
from comfyfleet.comfy.model import (
    Absent,
    FetchedFile,
    Finished,
    Found,
    HistoryEntry,
    Outcome,
    OutputFile,
    Prompt,
    QueueState,
    ServerFacts,
    Submitted,
    Update,
    UploadedFile,
    UploadKind,
)
from comfyfleet.comfy.socket import ComfySocket
from comfyfleet.comfy.watch import Attempt, watch
from comfyfleet.comfy.withdraw import withdraw
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.kernel.secret import Secret

UNWATCHED_MAX = 1000  # prompts submitted whose watching has not begun
DEFAULT_PATIENCE = Patience()


class SelfHosted:
    provider = "self_hosted"

    def __init__(
        self,
        server: str | Address,
        *,
        name: str | None = None,
        bearer: Secret | str | None = None,
        headers: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        patience: Patience = DEFAULT_PATIENCE,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        address = server if isinstance(server, Address) else parse_address(server, bearer=bearer, headers=headers)
        self.name = name or address.name
        self.client = ComfyClient(address, limits=limits, transport=transport)
        self.socket = ComfySocket(address)
        self._patience = patience
        self._server = _Server(self.client)
        self._attempts: dict[str, Attempt] = {}  # being watched, or about to be
        self._unwatched: OrderedDict[str, Feed] = OrderedDict()
        self._asking: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"SelfHosted({self.name!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def online(self) -> bool:
        return self.socket.connected

    @property
    def refused(self) -> bool:
        return self.socket.refused

    def follow(self, tell: Callable[[bool], None]) -> Callable[[], None]:
        self.socket.start()
        return self.socket.follow(tell)

    def follow_log(self, tell: Callable[[str, str], None]) -> None:
        """`tell` hears the prompt's id and each line that the server logs while it runs. Nothing, on a server that does
        not offer that."""
        self.socket.follow_log(tell)
        self.socket.follow(self._ask_for_lines)

    def _ask_for_lines(self, connected: bool) -> None:
        if connected:
            task = asyncio.create_task(self._subscribe(self.socket.client_id))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _subscribe(self, client_id: str) -> None:
        with suppress(FleetError):  # its lines are for people: a job goes on without them
            await self.client.subscribe_logs(client_id)

    async def submit(self, prompt: Prompt) -> Submitted:
        """After an error of the `Unavailable` family it may be queued nevertheless: `watch` finds out."""
        problem = await self._listen(prompt.prompt_id)
        attempt = Attempt(prompt, submit_ambiguous=True)
        self._attempts[prompt.prompt_id] = attempt
        try:
            submitted = await self.client.submit(replace(prompt, client_id=prompt.client_id or self.socket.client_id))
        except FleetError as error:
            if not isinstance(error, Unavailable) or (isinstance(error, ServerUnreachable) and not error.sent):
                self._let_go(prompt.prompt_id)
            raise
        attempt.submit_ambiguous = False
        if problem is not None:
            self.socket.listen(prompt.prompt_id).put(problem)
        return submitted

    def own_id(self, prompt_id: str) -> str:
        return prompt_id

    async def _listen(self, prompt_id: str) -> Disconnected | None:
        """Before the POST, so that an instant answer is heard. A server whose socket is shut can still be asked."""
        problem = None
        try:
            await self.socket.open()
        except (ServerUnreachable, AccessRefused) as error:
            problem = Disconnected(str(error))
        self._unwatched[prompt_id] = self.socket.listen(prompt_id)
        while len(self._unwatched) > UNWATCHED_MAX:
            self._let_go(next(iter(self._unwatched)))
        return problem

    def _let_go(self, prompt_id: str) -> None:
        self._attempts.pop(prompt_id, None)
        if feed := self._unwatched.pop(prompt_id, None):
            feed.close()

    async def watch(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[Update | Outcome]:
        self.socket.start()
        attempt = self._attempts.setdefault(prompt.prompt_id, Attempt(prompt))
        self._unwatched.pop(prompt.prompt_id, None)
        feed = self.socket.listen(prompt.prompt_id)
        try:
            async for told in watch(attempt, self._server, feed, deadline_s=deadline_s, patience=self._patience):
                yield told
        finally:
            feed.close()
            self._attempts.pop(prompt.prompt_id, None)

    async def cancel(self, prompt_id: str) -> bool:
        if attempt := self._attempts.get(prompt_id):
            attempt.ask_cancel()
        if isinstance(await self.find(prompt_id), Finished | Absent):
            return False
        match await withdraw(self._server, prompt_id, patience=self._patience):
            case Absent():
                return True
            case Finished(entry):
                return any(said.type == "execution_interrupted" for said in entry.messages)
            case _:
                raise CancelUnconfirmed(self.name, prompt_id=prompt_id)

    async def find(self, prompt_id: str) -> Found:
        return (await look_for(self._server, prompt_id)).found

    async def forget(self, prompt_id: str) -> None:
        if prompt_id in self._unwatched:
            self._let_go(prompt_id)
        await self.client.delete_history([prompt_id])

    async def upload(
        self,
        source: Path | bytes,
        *,
        name: str,
        kind: UploadKind = "image",
        subfolder: str = "",
        original: UploadedFile | None = None,
    ) -> UploadedFile:
        """A mask with an `original` becomes that picture's transparency; without one it is a picture of its own."""
        if kind == "mask" and original is not None:
            return await self.client.upload_mask(source, name=name, original=original, subfolder=subfolder)
        return await self.client.upload(source, name=name, subfolder=subfolder)

    async def fetch(self, output: OutputFile, to: Path, *, tell: Tell | None = None) -> FetchedFile:
        return await self.client.fetch(output, to, tell=tell)

    async def free(self) -> None:
        await self.client.free()

    async def describe(self) -> ServerFacts:
        return await self.client.system_stats()

    async def object_info(self, node_class: str | None = None) -> Mapping[str, Any]:
        return await self.client.object_info(node_class)

    async def close(self) -> None:
        """Prompts go on running on the server; whoever watches them here is told nothing more."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(self.socket.close(), self.client.close())


class _Server:
    """What the watcher asks. Interrupts by the atomic route where the server has it: it cannot hit the next prompt."""

    def __init__(self, client: ComfyClient) -> None:
        self._client = client

    async def queue(self) -> QueueState:
        return await self._client.queue()

    async def history(self, prompt_id: str) -> HistoryEntry | None:
        return await self._client.history(prompt_id)

    async def delete_pending(self, prompt_ids: Sequence[str]) -> None:
        await self._client.delete_pending(prompt_ids)

    async def interrupt(self, prompt_id: str) -> None:
        with suppress(Unavailable):
            if await self._client.cancel_job(prompt_id) is not None:
                return
        await self._client.interrupt(prompt_id)
