"""Blocks: a worker keeps away from a workflow structure that failed on it, for a while; then one probe decides."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from comfyfleet.audit import WorkerEventName
from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch.blocks import sql
from comfyfleet.dispatch.failures import POLICIES, FailureClass
from comfyfleet.dispatch.matching import EVERY_STRUCTURE, Block
from comfyfleet.dispatch.model import Dispatch, QueueRules
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import DispatchId, LaneId, WorkerId, new_id

# A block that fails at every probe is tried again at least so often; one that is set to last longer keeps its length.
COOLDOWN_S_MAX = 3_600.0


async def blocks_of(tx: ControlTx, worker_ids: list[WorkerId]) -> dict[WorkerId, list[Block]]:
    found: dict[WorkerId, list[Block]] = defaultdict(list)
    for row in await tx.all(sql.blocks_of(), rows=batch([{"worker_id": each} for each in worker_ids])):
        block = Block(row.structure_hash, row.tenant_id, half_open=bool(row.half_open), probing=bool(row.probing))
        found[row.worker_id].append(block)
    return found


async def start_probe(
    tx: ControlTx, worker_id: WorkerId, structure_hash: str, dispatch_id: DispatchId, *, probe_s: float
) -> bool:
    statement = sql.start_probe(worker_id, structure_hash, dispatch_id, probe_s=probe_s)
    return await tx.maybe(statement) is not None


async def give_up_probe(tx: ControlTx, worker_id: WorkerId, structure_hash: str, dispatch_id: DispatchId) -> None:
    """This worker's alone: the same job may be another's probe."""
    await tx.run(sql.give_up_probe(worker_id, structure_hash, dispatch_id))


async def learn_from_success(tx: ControlTx, pairs: Sequence[tuple[WorkerId, LaneId]]) -> list[Any]:
    """Success deletes the block, and one of the whole server; failures that were only counted are forgotten. Returns
    the blocks that ended."""
    if not pairs:
        return []
    rows = [{"worker_id": worker_id, "lane": lane} for worker_id, lane in set(pairs)]
    ended = [each for each in await tx.all(sql.end_blocks(), rows=batch(rows)) if _is_block(each)]
    if ended:
        await _tell(tx, WorkerEventName.UNBLOCKED_WORKFLOW, ended)
    return ended


async def learn_from_failure(
    tx: ControlTx, dispatch: Dispatch, worker_id: WorkerId, failure: FailureClass, *, rules: QueueRules
) -> Any | None:
    """What the user put in never blocks: a bad prompt is not a bad pair. Of a server's own faults the first blocks,
    whatever the threshold of a pair: they break every workflow."""
    await tx.run(sql.end_probe(dispatch.id))
    blocks = POLICIES[failure].blocks
    if blocks == "nothing":
        return None
    whole_server = blocks == "server"
    statement = sql.record_failure(
        worker_id,
        EVERY_STRUCTURE if whole_server else await _structure_hash(tx, dispatch.lane),
        dispatch.tenant_id,
        for_all=whole_server,
        cooldown_s=rules.block_cooldown_s,
        cooldown_max_s=max(COOLDOWN_S_MAX, rules.block_cooldown_s),
        failures_max=1 if whole_server else rules.max_failures_before_block,
    )
    block = await tx.one(statement)
    if _is_block(block):
        await _tell(tx, WorkerEventName.BLOCKED_WORKFLOW, [block], dispatch_id=dispatch.id)
    return block


async def _tell(
    tx: ControlTx, event: WorkerEventName, blocks: Sequence[Any], *, dispatch_id: DispatchId | None = None
) -> None:
    rows = [
        {
            "id": new_id(),
            "worker_id": block.worker_id,
            "dispatch_id": dispatch_id,
            "tenant_id": block.tenant_id,
            "detail": json.dumps({"structure_hash": block.structure_hash, "cooldown_s": block.cooldown_s}),
        }
        for block in blocks
    ]
    await tx.run(sql.insert_events(event.value, rows))


async def forget_probe(tx: ControlTx, dispatch_id: DispatchId) -> None:
    await tx.run(sql.end_probe(dispatch_id))


async def clear_block(tx: ControlTx, worker_id: WorkerId, structure_hash: str) -> None:
    """By an operator's word: the worker gets that structure again from its next poll on, failures forgotten."""
    ended = await tx.maybe(sql.end_block(worker_id, structure_hash))
    if ended is None:
        raise NotFound("block", structure_hash)
    await _tell(tx, WorkerEventName.UNBLOCKED_WORKFLOW, [ended])


async def forget_workerless_blocks(tx: ControlTx) -> int:
    """Blocks of workers that are forgotten keep nobody away."""
    return await tx.run(sql.forget_workerless())


def _is_block(row: Any) -> bool:
    return bool(row.cooldown_s > 0)


async def _structure_hash(tx: ControlTx, lane: LaneId) -> str:
    return str((await tx.one(sql.hash_of_lane(lane))).structure_hash)
