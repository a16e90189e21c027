"""What a prompt made goes to the object store: every file and every word of it, each sent on while it still arrives."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import structlog

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import AnswerTooLarge, OutputGone
from comfyfleet.comfy.model import FetchedFile, OutputFile
from comfyfleet.comfy.outputs import OCTETS, local_names
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Refused, Unavailable
from comfyfleet.wire.worker_v1 import OUTPUT_BYTES_MAX, Output, OutputUrl, WantedOutput
from comfyfleet.worker.spool import OnDisk, Spool
from comfyfleet.worker.together import end, together
from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.transfer_errors import DiskTrouble
from comfyfleet.worker.upload import Body

Locate: TypeAlias = Callable[[OutputFile], Path | None]
MintOutputs: TypeAlias = Callable[[Sequence[WantedOutput]], Awaitable[Sequence[OutputUrl]]]

AT_ONCE_MAX = 4  # files on their way; each is on our disk for that time
TRIES_MAX = 4
MEDIA_TYPE_CHARS_MAX = 127

log = structlog.get_logger()


class OutputTooLarge(Refused):
    """The same graph would make the same file again."""

    code = "output_too_large"
    text = "The output {name!r} of node {node} has {size_bytes} bytes; {bytes_max} are the most that can be delivered."

    def __init__(self, output: OutputFile, size_bytes: int) -> None:
        super().__init__(name=output.filename, node=output.node, size_bytes=size_bytes, bytes_max=OUTPUT_BYTES_MAX)


class OutputEmpty(OutputGone):
    """A file without a byte is no result: its disk was full, say. Another server may do better."""

    code = "output_empty"
    text = "The file {name!r} on the server {server} is empty."


async def deliver_outputs(
    outputs: Sequence[OutputFile],
    *,
    connector: Connector,
    transfer: Transfer,
    mint: MintOutputs,
    folder: Path,
    locate: Locate = lambda output: None,
) -> list[Output]:
    """All of them, in their order (the output node's first), as `complete` names them. Nothing stays in `folder`.

    `mint` asks the control plane for places under the lease; what it raises, a lost lease say, ends it all. `locate`
    knows files that lie on this machine anyway: they are sent from there.
    """
    gate = asyncio.Semaphore(AT_ONCE_MAX)
    names = local_names(outputs)
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)

    async def deliver(place: int, output: OutputFile) -> Output | None:
        async with gate:
            way = _Way(connector, transfer, mint, folder / f"output-{place}")
            found = await asyncio.to_thread(locate, output)
            here = None if found is None else await way.deliver_from(found, output, names[output])
            return here or await way.deliver(output, names[output])

    delivered = await together(*(deliver(place, output) for place, output in enumerate(outputs)))
    return [each for each in delivered if each is not None]


class _Way:
    """From the server over one file of ours to the store."""

    def __init__(self, connector: Connector, transfer: Transfer, mint: MintOutputs, path: Path) -> None:
        self._connector, self._transfer, self._mint, self._path = connector, transfer, mint, path

    async def deliver_from(self, path: Path, output: OutputFile, name: str) -> Output | None:
        """None: it went away while it was read, or there is nothing in it. The server has the last word on it."""
        try:
            file = OnDisk(path, (await asyncio.to_thread(path.stat)).st_size)
            if not 0 < file.size_bytes <= OUTPUT_BYTES_MAX:
                return None
            place = await self._upload(output, name, file)
        except (OSError, EOFError):
            return None
        return _output(place, output, name, file.size_bytes, file.sha256)

    async def deliver(self, output: OutputFile, name: str) -> Output | None:
        """None: words, and there are none."""
        tried = 0
        while True:
            tried += 1
            spool = Spool()
            fetching = asyncio.create_task(self._connector.fetch(output, self._path, tell=spool.grew))
            fetching.add_done_callback(spool.ended)
            try:
                return await self._send_on(output, name, spool, fetching)
            except Unavailable as error:
                # The store and the control plane have been tried again already, where their errors come from.
                if tried == TRIES_MAX or isinstance(error, AnswerTooLarge) or not _stopped_by(fetching, error):
                    raise
            except OSError as error:
                raise DiskTrouble(self._path.parent, error) from None
            finally:
                try:
                    await end(fetching)
                finally:
                    spool.close()
                    self._path.unlink(missing_ok=True)
            await asyncio.sleep(backoff_s(tried, chance=1.0, base_s=0.5))

    async def _send_on(
        self, output: OutputFile, name: str, spool: Spool, fetching: asyncio.Task[FetchedFile]
    ) -> Output | None:
        size_bytes = await spool.measured()
        if size_bytes > OUTPUT_BYTES_MAX:
            raise OutputTooLarge(output, size_bytes)
        if size_bytes == 0 and output.text is None:
            raise OutputEmpty(self._connector.name, output=output)
        if size_bytes == 0:
            log.info("output without words left out", node=output.node, key=output.key)
            return None
        place = await self._upload(output, name, spool)
        fetched = await fetching
        return _output(place, output, name, fetched.bytes, fetched.sha256)

    async def _upload(self, output: OutputFile, name: str, body: Body) -> OutputUrl:
        wanted = WantedOutput(name=name, mime_type=_media_type(output), size=body.size_bytes)

        async def mint() -> OutputUrl:
            return (await self._mint([wanted]))[0]

        return await self._transfer.upload(body, mint)


def _output(place: OutputUrl, output: OutputFile, name: str, size_bytes: int, sha256: str) -> Output:
    return Output(
        path=place.path,
        name=name,
        mime_type=_media_type(output),
        size=size_bytes,
        sha256=sha256,
        metadata={"node": output.node[:100], "key": output.key[:100], "filename": output.filename[:255]},
    )


def _media_type(output: OutputFile) -> str:
    return output.media_type if 3 <= len(output.media_type) <= MEDIA_TYPE_CHARS_MAX else OCTETS


def _stopped_by(task: asyncio.Task[FetchedFile], error: Exception) -> bool:
    return task.done() and not task.cancelled() and task.exception() is error
