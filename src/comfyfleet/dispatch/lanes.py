"""The lanes of the queue, kept in memory: they are never changed, only added to."""

from collections import defaultdict
from collections.abc import Collection

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.model import Lane, Provider
from comfyfleet.kernel.ids import LaneId, WorkflowId


class LaneBook:
    def __init__(self) -> None:
        self._lanes: dict[LaneId, Lane] = {}
        self._by_routing: dict[tuple[WorkflowId, str], set[LaneId]] = defaultdict(set)
        self._last = LaneId(0)
        # Grows with every lane learnt: what was worked out from the book before is then out of date.
        self.edition = 0

    def __getitem__(self, lane: LaneId) -> Lane:
        return self._lanes[lane]

    def __contains__(self, lane: LaneId) -> bool:
        return lane in self._lanes

    async def learn(self, tx: ControlTx) -> None:
        """What was added since."""
        for row in await tx.all(sql.lanes_after(self._last)):
            lane = Lane(row.id, row.workflow_id, row.structure_hash, Provider(row.provider), row.priority)
            self._lanes[lane.id] = lane
            self._by_routing[lane.workflow_id, lane.provider.value].add(lane.id)
            self._last = max(self._last, lane.id)
            self.edition += 1

    async def know(self, tx: ControlTx, lanes: Collection[LaneId]) -> None:
        if not all(lane in self._lanes for lane in lanes):
            await self.learn(tx)

    def lanes_for(self, workflows: Collection[WorkflowId], providers: Collection[str]) -> frozenset[LaneId]:
        """Where somebody waits, or may come to wait, for a worker that runs these."""
        found: set[LaneId] = set()
        for workflow_id in workflows:
            for provider in providers:
                found |= self._by_routing.get((workflow_id, provider), set())
        return frozenset(found)
