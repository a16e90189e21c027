"""What runs make is copied to a local folder, under the names that people know: for those who configured one.

The folder is the memory: a picture that is there whole is not copied again, and how far the mirror has come stands in
a file of its own. Nothing is ever removed.
"""

import asyncio
import contextlib
import os
import re
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import structlog

from comfyfleet import tenants
from comfyfleet.house import House
from comfyfleet.kernel.errors import NotFound, Unavailable
from comfyfleet.kernel.ids import TenantId, id_at
from comfyfleet.pipelines.mirror import Made, list_made

NAME = "mirror_candidates"
EVERY_S = 10.0
BATCH = 50
PIECE_BYTES = 4 * 1024**2
# Ids are made before their transaction commits: one may appear below others that were seen already.
LATE = timedelta(minutes=10)
MARK = ".comfyfleet-mirror"

log = structlog.get_logger()


class MirrorUnwritable(Unavailable):
    """The mirror's folder cannot be written to."""

    code = "mirror_unwritable"
    text = "The mirror of runs cannot be written: {problem}"

    def __init__(self, problem: str) -> None:
        super().__init__(problem=problem)


@dataclass
class Mirror:
    house: House
    pool: str
    folder: Path
    _after: UUID | None = None
    _is_read: bool = False
    _slugs: dict[TenantId, str] = field(default_factory=dict)

    @property
    def mark(self) -> Path:
        return self.folder / f"{MARK}-{re.sub(r'[^A-Za-z0-9_-]', '_', self.pool)}"

    async def tick(self) -> int:
        """How many were looked at. At the end of all there are, it goes back a little."""
        try:
            if not self._is_read:
                self._after, self._is_read = await asyncio.to_thread(self._read_mark), True
            async with self.house.pool_tx(self.pool, read_only=True) as tx:
                found = await list_made(tx, after=self._after, rows=BATCH)
            for each in found:
                await self._copy(each)
            if found:
                self._after = found[-1].id
                at = id_at(found[-1].created_at - LATE)
                await asyncio.to_thread(self._write_mark, at)
                if len(found) < BATCH:
                    self._after = at
        except OSError as problem:
            raise MirrorUnwritable(f"{problem.filename or self.folder}: {problem.strerror}") from problem
        return len(found) if len(found) >= BATCH else 0

    def _read_mark(self) -> UUID | None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError, ValueError):
            return UUID(self.mark.read_text().strip())
        return None

    def _write_mark(self, at: UUID) -> None:
        fresh = self.mark.with_suffix(".new")
        fresh.write_text(f"{at}\n")
        os.replace(fresh, self.mark)

    async def _copy(self, made: Made) -> None:
        to = self.folder / await self._slug(made.tenant_id) / made.name
        if await asyncio.to_thread(_is_whole, to, made.size_bytes):
            return
        if made.disk != self.house.store.disk:
            log.warning("mirror.elsewhere", candidate_id=str(made.id), disk=made.disk)
            return
        part = to.with_name(f".{uuid4().hex}.part")
        try:
            await self._fill(part, made)
            await asyncio.to_thread(os.replace, part, to)
        except NotFound:
            log.warning("mirror.gone", candidate_id=str(made.id))
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)

    async def _fill(self, part: Path, made: Made) -> None:
        await asyncio.to_thread(part.parent.mkdir, parents=True, exist_ok=True)
        place = 0
        while place < made.size_bytes:
            piece = await self.house.store.read_range(made.key, place, min(PIECE_BYTES, made.size_bytes - place))
            if not piece:
                raise NotFound("object", made.key)
            await asyncio.to_thread(_append, part, piece)
            place += len(piece)

    async def _slug(self, tenant_id: TenantId) -> str:
        if tenant_id not in self._slugs:
            async with self.house.control_tx(read_only=True) as tx:
                self._slugs[tenant_id] = (await tenants.get_tenant(tx, tenant_id)).slug
        return self._slugs[tenant_id]


def _is_whole(path: Path, size_bytes: int) -> bool:
    try:
        return path.stat().st_size == size_bytes
    except FileNotFoundError:
        return False


def _append(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)
