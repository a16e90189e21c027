"""What workers' servers say of their node classes: asked for once for each digest."""

import asyncio
from contextlib import suppress

from comfyfleet import fleet
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.comfy.graph import unpack_definitions
from comfyfleet.fleet import Reported
from comfyfleet.kernel.errors import AlreadyExists
from comfyfleet.storage import ObjectKey
from comfyfleet.wire import worker_v1 as wire

MEDIA_TYPE = "application/gzip"
PER_MINUTE = 10  # a worker says it when it starts, when a server comes back, and each half hour


async def definitions(call: Call) -> wire.DefinitionsReply:
    """Nobody's can be overwritten: the object's name is the digest of what it holds, which is computed here."""
    said, worker = await identified(call, wire.Definitions)
    await call.limits.spend(PER_MINUTE, "definitions", worker.worker_id)
    async with call.house.control_tx() as tx:
        is_known = await fleet.see_definitions(tx, said.digest)
    if is_known or said.gzip is None:
        return wire.DefinitionsReply(wanted=not is_known)
    found = await asyncio.to_thread(unpack_definitions, said.gzip, digest=said.digest)
    await _keep(call, Reported(said.digest, worker.worker_id, len(found), len(said.gzip)), said.gzip)
    return wire.DefinitionsReply(wanted=False)


async def _keep(call: Call, reported: Reported, packed: bytes) -> None:
    store = call.house.store
    with suppress(AlreadyExists):  # written, and its row was not: after a crash, say
        await store.write(ObjectKey(reported.path), packed, media_type=MEDIA_TYPE)
    async with call.house.control_tx() as tx:
        gone = await fleet.keep_definitions(tx, reported)
    for digest in gone:
        await store.delete(ObjectKey(fleet.definitions_path(digest)))
