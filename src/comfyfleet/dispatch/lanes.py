"""The lanes of the queue, kept in memory: they are never changed, only added to."""

from collections import defaultdict
from collections.abc import Collection

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.model import Lane, Provider
from comfyfleet.kernel.ids import LaneId, WorkflowId

ANSWERS_MAX = 20_000


class LaneBook:
    def __init__(self) -> None:
        self._lanes: dict[LaneId, Lane] = {}
        self._by_routing: dict[tuple[WorkflowId, str], set[LaneId]] = defaultdict(set)
        self._last = LaneId(0)
        self._answers: dict[tuple[frozenset[WorkflowId], frozenset[str]], frozenset[LaneId]] = {}

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
            self._answers.clear()

    async def know(self, tx: ControlTx, lanes: Collection[LaneId]) -> None:
        if not all(lane in self._lanes for lane in lanes):
            await self.learn(tx)

    def lanes_for(self, workflows: frozenset[WorkflowId], providers: frozenset[str]) -> frozenset[LaneId]:
        """Where somebody waits, or may come to wait, for a worker that runs these. Worked out once."""
        answer = self._answers.get((workflows, providers))
        if answer is None:
            routings = [(workflow_id, provider) for workflow_id in workflows for provider in providers]
            answer = frozenset(lane for routing in routings for lane in self._by_routing.get(routing, ()))
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            self._answers[workflows, providers] = answer
        return answer
