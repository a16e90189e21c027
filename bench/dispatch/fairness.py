"""What fair shares cost: a thousand tenants in turn, against one alone."""

import random
import time
from dataclasses import dataclass
from uuid import UUID

from bench.dispatch.engine import Desk, enqueue, open_desk
from bench.dispatch.ground import Ground
from comfyfleet import dispatch
from comfyfleet.dispatch import Ask, Holder, LeaseProof, NewDispatch, Provider, Report
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, WorkflowId, new_id

BATCH, WAITING = 100, 2_000
WORKFLOW = WorkflowId(UUID(int=1))


@dataclass
class Tenants:
    """A queue that so many tenants share: enqueue, lease and complete, in batches as the engine makes them."""

    url: str
    tenants: list[TenantId]
    chance: random.Random

    @classmethod
    def prepare(cls, ground: Ground, count: int) -> "Tenants":
        tenants = [TenantId(UUID(int=number + 1)) for number in range(count)]
        return cls(ground.central(f"tenants_{count}", flushes=False), tenants, random.Random(1))

    async def measure(self, ground: Ground, batches: int) -> float:
        """Milliseconds of one job, from enqueue to settlement."""
        async with ground.house(self.url) as house, open_desk(house) as desk:
            for _ in range(WAITING // BATCH):
                await self._enqueue(house)
            lanes = await _lanes(house)
            await self._round(house, desk, lanes)
            started = time.perf_counter()
            for _ in range(batches):
                await self._round(house, desk, lanes)
            return (time.perf_counter() - started) / (batches * BATCH) * 1000

    async def _enqueue(self, house: House) -> None:
        await enqueue(house, [_a_job(self.chance.choice(self.tenants)) for _ in range(BATCH)])

    async def _round(self, house: House, desk: Desk, lanes: frozenset[LaneId]) -> None:
        await self._enqueue(house)
        asks = [Ask(Holder(WorkerId(new_id()), 1), lanes, leases_max=2) for _ in range(BATCH)]
        async with house.control_tx() as tx:
            grants = await dispatch.lease_dispatches(tx, asks, desk.leasing)
        proofs = [LeaseProof(grant.dispatch_id, grant.token, ask.holder) for ask, grant in grants.items()]
        async with house.control_tx() as tx:
            reports = [Report(proof, digest="digest") for proof in proofs]
            await dispatch.complete_dispatches(tx, reports, signer=house.leases)


async def _lanes(house: House) -> frozenset[LaneId]:
    book = dispatch.LaneBook()
    async with house.control_tx() as tx:
        await book.learn(tx)
    return book.lanes_for([WORKFLOW], [Provider.SELF_HOSTED.value])


def _a_job(tenant: TenantId) -> NewDispatch:
    return NewDispatch(
        id=DispatchId(new_id()),
        tenant_id=tenant,
        pool="main",
        workflow_id=WORKFLOW,
        structure_hash="structure",
        provider=Provider.SELF_HOSTED,
        payload=b'{"graph": 1}',
        cost_s=60.0,
    )
