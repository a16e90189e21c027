"""Can a worker run a workflow? By what the workflow needs, and what the worker said it has."""

from collections.abc import Collection, Mapping
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.fleet.inventory import keep_inventory
from comfyfleet.fleet.model import Worker
from comfyfleet.fleet.needs import sql
from comfyfleet.fleet.needs.model import Capabilities, Lack, LackOf, Needs, Said, find_lacks, lacks, take_apart
from comfyfleet.kernel.errors import Superseded
from comfyfleet.kernel.ids import WorkflowId

__all__ = [
    "Capabilities",
    "CapabilityBook",
    "Lack",
    "LackOf",
    "Needs",
    "Said",
    "change_capabilities",
    "find_lacks",
    "forget_lists",
    "keep_capabilities",
    "lacks",
    "needs_of",
    "take_apart",
]

KNOWN_MAX = 2000


class CapabilityBook:
    """Lists of capabilities by their digests, kept in memory: what a digest names never changes."""

    def __init__(self) -> None:
        self._known: dict[str, Capabilities] = {}

    def __getitem__(self, digest: str | None) -> Capabilities | None:
        """None: the worker said nothing, or its lists are gone; then it is believed able."""
        return self._known.get(digest) if digest is not None else None

    async def know(self, tx: ControlTx, digests: Collection[str | None]) -> None:
        strange = sorted({each for each in digests if each is not None} - self._known.keys())
        if not strange:
            return
        if len(self._known) + len(strange) > KNOWN_MAX:
            self._known.clear()
            strange = sorted({each for each in digests if each is not None})
        for row in await tx.all(sql.lists_of(strange)):
            self._known[row.digest] = Capabilities.from_json(row.lists)


async def keep_capabilities(tx: ControlTx, capabilities: Mapping[str, Any]) -> Said:
    """The long lists once for all workers that are alike."""
    said = take_apart(capabilities)
    if said.digest is not None and said.lists is not None:
        await tx.run(sql.keep_lists(said.digest, said.lists))
    return said


async def change_capabilities(tx: ControlTx, worker: Worker, capabilities: Mapping[str, Any]) -> str | None:
    """A worker has other weights or nodes than it registered with. Returns the digest of what it has."""
    said = await keep_capabilities(tx, capabilities)
    row = await tx.maybe(sql.change_capabilities(worker.id, worker.incarnation, said))
    if row is None:
        raise Superseded(worker.worker_id)
    await keep_inventory(tx, row)
    return said.digest


async def needs_of(tx: ControlTx, workflow_ids: Collection[WorkflowId]) -> dict[WorkflowId, Needs]:
    if not workflow_ids:
        return {}
    return {WorkflowId(row.id): Needs.from_row(row) for row in await tx.all(sql.needs_of(sorted(workflow_ids)))}


async def forget_lists(tx: ControlTx) -> int:
    return await tx.run(sql.forget_lists())
