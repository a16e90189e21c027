"""Jobs take their places in the queue."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch.enqueue import sql
from comfyfleet.dispatch.fairness import share_cost, start_tags
from comfyfleet.dispatch.model import NewDispatch, Place, QueueRules
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId

Lane = tuple[Any, ...]


async def enqueue_dispatches(
    tx: ControlTx, news: Sequence[NewDispatch], *, rules: QueueRules
) -> dict[DispatchId, Place]:
    """Once per id. Where they wait, so that somebody can be woken; those that were there before are missing."""
    known = (
        {row.id for row in await tx.all(sql.known(), rows=batch([{"id": new.id} for new in news]))} if news else set()
    )
    fresh = list({new.id: new for new in news if new.id not in known}.values())
    if not fresh:
        return {}
    lanes = await _intern_lanes(tx, fresh)
    tags = await _fair_tags(tx, fresh, lanes)
    places = {new.id: Place(lanes[_lane(new)], tags[new.id], _seq(new.id)) for new in fresh}
    rows = [_row(new, places[new.id], rules) for new in fresh]
    placed = {row.id: places[row.id] for row in await tx.all(sql.insert_dispatches(rules), rows=batch(rows))}
    bodies = [{"dispatch_id": new.id, "payload": new.payload} for new in fresh if new.id in placed]
    if bodies:
        await tx.run_each(sql.insert_payload(), bodies)
    return placed


async def _intern_lanes(tx: ControlTx, news: Sequence[NewDispatch]) -> dict[Lane, LaneId]:
    wanted = {_lane(new): dict(zip(sql.LANE, _lane(new), strict=True)) for new in news}
    found = await _find_lanes(tx, list(wanted.values()))
    missing = [wanted[lane] for lane in sorted(wanted.keys() - found.keys())]
    if missing:
        await tx.run(sql.insert_lanes(), rows=batch(missing))
        found |= await _find_lanes(tx, missing)
    return found


async def _find_lanes(tx: ControlTx, rows: list[dict[str, Any]]) -> dict[Lane, LaneId]:
    return {
        tuple(getattr(row, name) for name in sql.LANE): LaneId(row.id)
        for row in await tx.all(sql.lanes_of(), rows=batch(rows))
    }


async def _fair_tags(tx: ControlTx, news: Sequence[NewDispatch], lanes: dict[Lane, LaneId]) -> dict[DispatchId, float]:
    """Each tenant's jobs, one after the other from where its share of the lane stands."""
    groups: dict[tuple[LaneId, TenantId], list[NewDispatch]] = defaultdict(list)
    for new in news:
        groups[lanes[_lane(new)], new.tenant_id].append(new)
    costs = {key: [share_cost(new.cost_s, new.weight) for new in group] for key, group in groups.items()}
    shares = [{"lane": lane, "tenant_id": tenant, "cost": sum(each)} for (lane, tenant), each in costs.items()]
    tags: dict[DispatchId, float] = {}
    for row in await tx.all(sql.advance_shares(), rows=batch(shares)):
        key = (LaneId(row.lane), TenantId(row.tenant_id))
        starts = start_tags(row.finish_tag, costs[key])
        tags |= {new.id: start for new, start in zip(groups[key], starts, strict=True)}
    return tags


def _lane(new: NewDispatch) -> Lane:
    return new.workflow_id, new.structure_hash, new.provider.value, new.priority


def _seq(dispatch_id: DispatchId) -> int:
    """UUIDv7 is time first: its upper half is a sequence that needs no sequence."""
    return dispatch_id.int >> 65


def _row(new: NewDispatch, place: Place, rules: QueueRules) -> dict[str, Any]:
    return {
        "id": new.id,
        "tenant_id": new.tenant_id,
        "pool": new.pool,
        "workflow_id": new.workflow_id,
        "provider": new.provider.value,
        "lane": place.lane,
        "priority": new.priority,
        "fair_tag": place.fair_tag,
        "seq": place.seq,
        "run_deadline_s": new.run_deadline_s or rules.run_deadline_s,
        "delivers": new.delivers,
        "traceparent": new.traceparent,
    }
