"""Files to and from the object store, by signed requests. Streamed: a large file costs no more memory than a small."""

import asyncio
from pathlib import Path
from typing import Self

from comfyfleet.wire.worker_v1 import OutputUrl
from comfyfleet.worker.download import Download, Renew
from comfyfleet.worker.landing import Downloaded, Landing
from comfyfleet.worker.store_line import Line, OnMoved, ignore_moved
from comfyfleet.worker.transfer_errors import DiskTrouble, TransferFailed, TransferLimits
from comfyfleet.worker.upload import Body, Mint, Upload

DEFAULT_LIMITS = TransferLimits()


class Transfer:
    def __init__(
        self, *, base_url: str = "", limits: TransferLimits = DEFAULT_LIMITS, on_moved: OnMoved = ignore_moved
    ) -> None:
        """`base_url`: the control plane's, before the relative URLs of a local store."""
        self._limits = limits
        self._line = Line(base_url, limits, on_moved)

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def download(
        self,
        url: str,
        to: Path,
        *,
        size_bytes: int | None = None,
        sha256: str | None = None,
        renew: Renew | None = None,
    ) -> Downloaded:
        """To the file `to`, whole and checked, or not at all. What an earlier try left (`.part`) is continued; after a
        failure it stays there for the next one. Without `renew`, a URL that is refused is the end."""
        landing = Landing(to, self._limits.bytes_max if size_bytes is None else size_bytes)
        try:
            try:
                await asyncio.to_thread(landing.open)
                async with asyncio.timeout(self._limits.whole_s):
                    await Download(self._line, landing, url, size_bytes, sha256, renew).run()
                await asyncio.to_thread(landing.keep)
                return landing.weighed()
            finally:
                # Even for a caller who is cut off a second time, as all are when the process ends.
                await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, landing.close))
        except TimeoutError:
            raise self._late(url, "give") from None
        except OSError as error:
            raise DiskTrouble(to.parent, error) from None

    async def upload(self, body: Body, mint: Mint) -> OutputUrl:
        """PUT with the signed headers. Where it is now: asks `mint` again when a place is refused, or taken."""
        place = await mint()
        try:
            async with asyncio.timeout(self._limits.whole_s):
                return await Upload(self._line, body, mint, place).run()
        except TimeoutError:
            raise self._late(place.output_url, "take") from None

    def _late(self, url: str, verb: str) -> TransferFailed:
        return TransferFailed(self._line.host_of(url), verb=verb, problem="too slow", after_s=self._limits.whole_s)
