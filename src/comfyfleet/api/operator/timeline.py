"""What every worker did and does, as blocks of time; and what changes, for whoever watches."""

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

import anyio
import msgspec
from fastapi import APIRouter, Query, Response

from comfyfleet import fleet, workflows
from comfyfleet.api.bodies import View
from comfyfleet.api.operator.policies import SEE, OfWorker
from comfyfleet.api.policy import TheHouse
from comfyfleet.db import ControlTx
from comfyfleet.dispatch import timeline
from comfyfleet.dispatch.timeline import Block, Timeline
from comfyfleet.fleet import ListedWorker, WorkerStatus
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import DispatchId

router = APIRouter(prefix="/timeline")

WINDOW_MAX = timedelta(days=7)
# Farther away no calendar can count a day on or back.
YEARS = (1970, 9000)
LOOK_EVERY_S = 0.9
# A row may be committed a little later than the time that stands in it.
MARGIN = timedelta(seconds=5)
KEPT_MAX = 60
TOLD_MAX = 20_000

_encode = msgspec.json.Encoder().encode


class LaneView(View):
    """A worker of the timeline."""

    worker_id: str
    fleet: str | None
    status: WorkerStatus
    max_concurrency: int


class BlocksView(View):
    """Columns of one length: the first block is the first value of each. `worker`, `workflow` and `outcome` are places
    in the lists beside them; `outcome` -1: it runs. `start_ms` and `end_ms` count from `from`; `end_ms` -1: it runs."""

    worker: list[int]
    workflow: list[int]
    start_ms: list[int]
    end_ms: list[int]
    outcome: list[int]
    dispatch_id: list[DispatchId]
    epoch: list[int]


class TimelineView(View):
    """`from_ms`, `to_ms`, `at_ms`: milliseconds since 1970 by the database's clock; `at_ms` is when it was read.
    `left_out`: there were more than 50,000; the latest are here."""

    from_ms: int
    to_ms: int
    at_ms: int
    left_out: bool
    workers: list[LaneView]
    workflows: list[str]
    outcomes: list[str]
    blocks: BlocksView


@router.get("", dependencies=SEE, response_model=TimelineView)
async def get_timeline(
    house: TheHouse,
    begin: Annotated[datetime | None, Query(alias="from", description="Default: 24 hours before `to`.")] = None,
    end: Annotated[datetime | None, Query(alias="to", description="Default: now.")] = None,
    worker: OfWorker = None,
) -> Response:
    """Attempts that touch this time, and the workers that were there. Seven days at most."""
    async with house.control_tx(read_only=True) as tx:
        ends_at = _with_zone("to", end) or await timeline.time_now(tx)
        begins_at = _with_zone("from", begin) or ends_at - timedelta(days=1)
        if not timedelta(0) < ends_at - begins_at <= WINDOW_MAX:
            raise InvalidInput("from", "must be before `to`, by seven days at most")
        only = (await fleet.get_worker(tx, worker)).id if worker else None
        found = await timeline.read_timeline(tx, begins_at, ends_at, worker_id=only)
        roster = await fleet.list_roster(tx, since=begins_at)
        told = await _told(tx, found, [each for each in roster if only in (None, each.id)])
    return Response(_encode(told), media_type="application/json")


def _with_zone(name: str, value: datetime | None) -> datetime | None:
    if value is not None and value.tzinfo is None:
        raise InvalidInput(name, "needs a time zone, such as 2026-11-16T10:00:00Z")
    if value is not None and not YEARS[0] <= value.year <= YEARS[1]:
        raise InvalidInput(name, f"must be in the years {YEARS[0]} to {YEARS[1]}")
    return value


@dataclass
class FleetWatch:
    """What changed on the timeline, looked up once a second while somebody watches, for all of them. It is read from
    the database: so it holds for what workers told another replica, and for what the command line did."""

    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _looked_at: float = -math.inf
    _since: datetime | None = None
    _told: dict[tuple[DispatchId, int], bool] = field(default_factory=dict)
    _workers: dict[str, WorkerStatus] = field(default_factory=dict)
    _kept: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=KEPT_MAX))
    number: int = 0

    async def look(self, house: House) -> None:
        async with self._turn:
            if time.monotonic() - self._looked_at > LOOK_EVERY_S:
                await self._look(house)
                self._looked_at = time.monotonic()

    def after(self, number: int) -> Iterator[tuple[int, str]]:
        return ((each, told) for each, told in list(self._kept) if each > number)

    async def _look(self, house: House) -> None:
        async with house.control_tx(read_only=True) as tx:
            begins = self._since is None or time.monotonic() - self._looked_at > KEPT_MAX
            since = (await timeline.time_now(tx) if begins or self._since is None else self._since) - MARGIN
            found = await timeline.read_timeline_since(tx, since)
            roster = await fleet.list_roster(tx, since=since)
            blocks = [each for each in found.blocks if self._told.get(each.key) is not (each.ends_s is not None)]
            moved = [each for each in roster if self._workers.get(each.worker_id) is not each.status]
            self._since = found.at
            self._remember(found.blocks, roster)
            if begins or not (blocks or moved):
                return  # whoever comes now reads the whole of it first
            changed = Timeline(found.begins_at, found.ends_at, found.at, blocks, left_out=found.left_out)
            told = await _told(tx, changed, roster, only_named=True, named=moved)
        self.number += 1
        self._kept.append((self.number, _encode(told).decode()))

    def _remember(self, blocks: Sequence[Block], roster: Sequence[ListedWorker]) -> None:
        self._workers = {each.worker_id: each.status for each in roster}
        for each in blocks:
            self._told[each.key] = each.ends_s is not None
        running = {each.key for each in blocks if each.ends_s is None}
        while len(self._told) > TOLD_MAX + len(running):
            oldest = next(iter(self._told))
            over = self._told.pop(oldest)
            if not over and oldest in running:
                self._told[oldest] = False


async def _told(
    tx: ControlTx,
    found: Timeline,
    roster: Sequence[ListedWorker],
    *,
    only_named: bool = False,
    named: Sequence[ListedWorker] = (),
) -> dict[str, object]:
    """`only_named`: of the workers only those that a block names, and those given."""
    by_id = {each.id: each for each in roster}
    if only_named:
        wanted = {block.worker_id for block in found.blocks} | {each.id for each in named}
        by_id = {key: each for key, each in by_id.items() if key in wanted}
    lanes = {key: place for place, key in enumerate(by_id)}
    shown = [block for block in found.blocks if block.worker_id in lanes]
    slugs = await workflows.slugs_of(tx, {each.workflow_id for each in shown if each.workflow_id is not None})
    kinds = {key: place for place, key in enumerate(slugs)}
    outcomes = {word: place for place, word in enumerate(sorted({each.outcome or "" for each in shown} - {""}))}
    return {
        "from_ms": _ms(found.begins_at),
        "to_ms": _ms(found.ends_at),
        "at_ms": _ms(found.at),
        "left_out": found.left_out,
        "workers": [_lane(each) for each in by_id.values()],
        "workflows": list(slugs.values()),
        "outcomes": list(outcomes),
        "blocks": {
            "worker": [lanes[each.worker_id] for each in shown],
            "workflow": [-1 if each.workflow_id is None else kinds.get(each.workflow_id, -1) for each in shown],
            "start_ms": [round(each.begins_s * 1000) for each in shown],
            "end_ms": [-1 if each.ends_s is None else round(each.ends_s * 1000) for each in shown],
            "outcome": [outcomes.get(each.outcome or "", -1) for each in shown],
            "dispatch_id": [each.dispatch_id for each in shown],
            "epoch": [each.epoch for each in shown],
        },
    }


def _lane(worker: ListedWorker) -> dict[str, object]:
    facts = {"worker_id": worker.worker_id, "fleet": worker.fleet, "status": worker.status}
    return {**facts, "max_concurrency": worker.max_concurrency}


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
