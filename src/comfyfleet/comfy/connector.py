"""What a worker or a pool needs of a server, whoever runs it: the same for `self_hosted` and `cloud`."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from comfyfleet.comfy.model import (
    Arrival,
    FetchedFile,
    Found,
    Outcome,
    OutputFile,
    Prompt,
    ServerFacts,
    Submitted,
    Update,
    UploadedFile,
    UploadKind,
)


@runtime_checkable
class LogSource(Protocol):
    """A server that may offer the lines of its log."""

    def follow_log(self, tell: Callable[[str, str], None]) -> None:
        """`tell` hears the prompt's id and each line that was logged while it ran."""
        ...


class Connector(Protocol):
    @property
    def name(self) -> str:
        """For people and logs: never holds a credential."""
        ...

    @property
    def provider(self) -> str:
        """`self_hosted` or `cloud`."""
        ...

    @property
    def online(self) -> bool: ...

    @property
    def refused(self) -> bool:
        """Nothing listens at its port: it does not run."""
        ...

    def follow(self, tell: Callable[[bool], None]) -> Callable[[], None]:
        """`tell` hears every change of `online`, without polling, and again when a server that is away turns out to be
        `refused`; what comes back ends it. Connects if need be."""
        ...

    async def upload(
        self, source: Path | bytes, *, name: str, kind: UploadKind = "image", subfolder: str = ""
    ) -> UploadedFile: ...

    async def submit(self, prompt: Prompt) -> Submitted:
        """Listens first and posts then, so that an instant answer is heard."""
        ...

    def own_id(self, prompt_id: str) -> str:
        """What the provider calls that prompt, as far as it has said: on one's own server as we do."""
        ...

    def watch(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[Update | Outcome]:
        """The last element, and only it, is an Outcome."""
        ...

    async def fetch(
        self, output: OutputFile, to: Path, *, tell: Callable[[Arrival], None] | None = None
    ) -> FetchedFile:
        """To the file `to` itself; it is there whole or not at all. `tell` hears of it while it grows, on a server
        that says how long it will be: whoever sends it on need not wait for the end."""
        ...

    async def cancel(self, prompt_id: str) -> bool:
        """Pending or running; comes back when the server confirms. False: it had ended by itself, or never was."""
        ...

    async def forget(self, prompt_id: str) -> None:
        """Deletes the history entry."""
        ...

    async def find(self, prompt_id: str) -> Found:
        """Queue first, history second: the other order loses prompts that end in between."""
        ...

    async def free(self) -> None:
        """Unloads models and drops the cache."""
        ...

    async def describe(self) -> ServerFacts: ...

    async def object_info(self, node_class: str | None = None) -> Mapping[str, Any]:
        """Node classes and their inputs; of one class it is cheap, of all it stalls the server for a moment."""
        ...

    async def close(self) -> None: ...
