"""What fair shares cost: a thousand tenants in turn, against one alone."""

import random
import time
from dataclasses import dataclass
from uuid import UUID

from bench.dispatch.engine import Verbs, open_verbs
from bench.dispatch.ground import Ground
from comfyfleet import dispatch
from comfyfleet.dispatch import Ask, Holder, LeaseProof, NewDispatch, Provider, Report
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkerId, WorkflowId, new_id

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

    async def measure(self, batches: int) -> float:
        """Milliseconds of one job, from enqueue to settlement."""
        async with open_verbs(self.url) as verbs:
            for _ in range(WAITING // BATCH):
                await self._enqueue(verbs)
            async with verbs.database.control_tx() as tx:
                await verbs.leasing.book.learn(tx)
            await self._round(verbs)
            started = time.perf_counter()
            for _ in range(batches):
                await self._round(verbs)
            return (time.perf_counter() - started) / (batches * BATCH) * 1000

    async def _enqueue(self, verbs: Verbs) -> None:
        news = [_a_job(self.chance.choice(self.tenants)) for _ in range(BATCH)]
        async with verbs.database.control_tx() as tx:
            await dispatch.enqueue_dispatches(tx, news, rules=verbs.leasing.rules)

    async def _round(self, verbs: Verbs) -> None:
        await self._enqueue(verbs)
        lanes = verbs.leasing.book.lanes_for(frozenset({WORKFLOW}), frozenset({Provider.SELF_HOSTED.value}))
        asks = [Ask(Holder(WorkerId(new_id()), 1), lanes, leases_max=2) for _ in range(BATCH)]
        async with verbs.database.control_tx() as tx:
            grants = (await dispatch.lease_dispatches(tx, asks, verbs.leasing)).grants
        proofs = [LeaseProof(grant.dispatch_id, grant.token, ask.holder) for ask, grant in grants.items()]
        async with verbs.database.control_tx() as tx:
            reports = [Report(proof, digest="digest") for proof in proofs]
            await dispatch.complete_dispatches(tx, reports, signer=verbs.leasing.signer)


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
