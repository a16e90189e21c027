"""Node classes as workers' servers define them: reported once for each digest, bounded, read when a graph comes."""

from comfyfleet.db import ControlTx
from comfyfleet.fleet.definitions import sql
from comfyfleet.fleet.definitions.model import IN_ALL_MAX, PER_WORKER_MAX, KnownDefinitions, Reported, definitions_path

__all__ = [
    "KnownDefinitions",
    "Reported",
    "definitions_path",
    "forget_definitions",
    "keep_definitions",
    "list_definitions",
    "see_definitions",
]


async def see_definitions(tx: ControlTx, digest: str) -> bool:
    """Whether they are known; then they count as seen now."""
    return await tx.maybe(sql.see(digest)) is not None


async def keep_definitions(tx: ControlTx, reported: Reported) -> list[str]:
    """Their object must be in the store already. Returns the digests that had to go, whose objects can be deleted.

    A worker has a place for a few, so that none can push out what the others have reported.
    """
    await tx.run(sql.insert(reported))
    rows = await tx.all(sql.beyond(kept=PER_WORKER_MAX, worker_id=reported.worker_id))
    rows = [*rows, *await tx.all(sql.beyond(kept=IN_ALL_MAX))]
    gone = list(dict.fromkeys(row.digest for row in rows))
    for digest in gone:
        await tx.run(sql.delete(digest))
    return gone


async def list_definitions(tx: ControlTx) -> list[KnownDefinitions]:
    """Those that a worker has named last come first."""
    return [KnownDefinitions.from_row(row) for row in await tx.all(sql.newest(rows=IN_ALL_MAX))]


async def forget_definitions(tx: ControlTx, digest: str) -> None:
    """Their object is gone: the next worker that has them is asked for them again."""
    await tx.run(sql.delete(digest))
