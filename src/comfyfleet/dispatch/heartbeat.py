"""A worker shows that it is alive, and its leases live on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import ordered_batch
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.model import LeaseProof, QueueRules
from comfyfleet.dispatch.tokens import epoch_of
from comfyfleet.kernel.ids import DispatchId, LaneId

# Of the leases that a job has had. After them it stays with whoever has it, idle workers or not.
ASKED_BACK_MAX = 5


@dataclass(frozen=True, slots=True, eq=False)
class Beat:
    proof: LeaseProof
    provider_job_id: str | None = None
    service_status: str | None = None
    submitted_ago_s: float | None = None
    checked_ago_s: float | None = None


@dataclass(frozen=True, slots=True)
class Extended:
    lease_s: float
    deadline_s: float
    cancel_requested: bool
    lane: LaneId
    epoch: int

    @property
    def may_be_asked_back(self) -> bool:
        """Each time counts as a release, and there are only so many: politeness must not wear a job out."""
        return self.epoch <= ASKED_BACK_MAX


async def extend_leases(
    tx: ControlTx, beats: Sequence[Beat], *, rules: QueueRules
) -> tuple[dict[DispatchId, Extended], int]:
    """Those that come back are extended; a lease that is missing is lost. One call may renew many.

    With how many of them this was the first heartbeat of.
    """
    if not beats:
        return {}, 0
    rows = [
        {
            **lease_key(beat.proof),
            "provider_job_id": beat.provider_job_id,
            "service_status": beat.service_status,
            "submitted_ago_s": beat.submitted_ago_s,
            "checked_ago_s": beat.checked_ago_s,
        }
        for beat in beats
    ]
    found = await tx.all(sql.extend(), rows=ordered_batch(rows), ttl_s=rules.lease_ttl_s)
    epochs = {row["id"]: row["epoch"] for row in rows}
    extended = {
        row.id: Extended(row.lease_s, row.deadline_s, row.cancel_requested_at is not None, row.lane, epochs[row.id])
        for row in found
    }
    confirmed = [{"id": row["id"], "epoch": row["epoch"]} for row in rows if row["id"] in extended]
    return extended, await tx.run(sql.confirm_attempts(), rows=ordered_batch(confirmed))


def lease_key(proof: LeaseProof) -> dict[str, Any]:
    """What the guard of every write under a lease compares."""
    return {
        "id": proof.dispatch_id,
        "epoch": epoch_of(proof.token),
        "lease_hash": proof.token.digest(),
        "worker_id": proof.holder.worker_id,
        "incarnation": proof.holder.incarnation,
    }
