"""Files to and from the object store, by signed requests. Skeleton: the names stand, the work follows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from comfyfleet.wire.worker_v1 import OutputUrl

Renew: TypeAlias = Callable[[], Awaitable[str]]  # a fresh URL for the same object
Mint: TypeAlias = Callable[[], Awaitable[OutputUrl]]  # a fresh place for the same file


@dataclass(frozen=True, slots=True)
class Downloaded:
    size_bytes: int
    sha256: str


class Transfer:
    def __init__(self, *, base_url: str = "") -> None:
        """`base_url`: the control plane's, for the relative URLs of a local store."""

    async def download(
        self,
        url: str,
        to: Path,
        *,
        size_bytes: int | None,
        sha256: str | None,
        renew: Renew | None = None,
    ) -> Downloaded:
        """To the file `to`, whole and checked, or not at all. What is there of an earlier try (`to` + .part) is used."""
        raise NotImplementedError

    async def upload(self, path: Path, mint: Mint) -> OutputUrl:
        """PUT with the signed headers; the place it ended up in. Asks `mint` again when a URL is refused."""
        raise NotImplementedError

    async def close(self) -> None: ...
