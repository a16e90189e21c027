"""Why a job waits. Pure: who waits, who could run it and who is kept away come in; what to say and to try goes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from comfyfleet.dispatch.matching import EVERY_STRUCTURE
from comfyfleet.dispatch.model import Provider
from comfyfleet.kernel.ids import LaneId, TenantId, WorkerId, WorkflowId

NO_WORKER = "No worker that is online may run this workflow."
NONE_FIT = "No worker that is online has all the {lacked} that this workflow needs."
OF_WORKERS = "No worker that is online"  # as both begin
ALL_BLOCKED = "Every worker that may run this workflow failed at it lately."


@dataclass(frozen=True, slots=True)
class Starving:
    """A lane whose first rows have waited long, and the tenants they belong to."""

    lane: LaneId
    workflow_id: WorkflowId
    structure_hash: str
    provider: Provider
    tenant_ids: frozenset[TenantId]


@dataclass(frozen=True, slots=True)
class KeptAway:
    """A block, as one looks at it who wants to know whether it will ever end."""

    worker_id: WorkerId
    structure_hash: str
    tenant_id: TenantId | None
    since: datetime
    opens: bool  # its cooldown is over: the next job that fits is its probe


@dataclass(frozen=True, slots=True)
class Reason:
    """For all tenants of the lane, or for one."""

    lane: LaneId
    tenant_id: TenantId | None
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    reasons: tuple[Reason, ...] = ()
    # Blocks that should let one job through now: (worker, structure hash).
    probes: frozenset[tuple[WorkerId, str]] = frozenset()


def judge(
    starving: Starving,
    able: Sequence[WorkerId],
    blocks: Mapping[WorkerId, Sequence[KeptAway]],
    *,
    lacked: str | None = None,
) -> Verdict:
    """Nothing to say when somebody may run it: then it only waits its turn. `lacked`: what others lack who may."""
    if not able:
        return Verdict((Reason(starving.lane, None, none_fit(lacked) if lacked else NO_WORKER),))
    reasons: list[Reason] = []
    probes: set[tuple[WorkerId, str]] = set()
    for tenant_id in sorted(starving.tenant_ids):
        kept = {worker: _against(starving, tenant_id, blocks.get(worker, ())) for worker in able}
        if not all(kept.values()):
            continue
        every_tenant = all(any(each.tenant_id is None for each in against) for against in kept.values())
        reasons.append(Reason(starving.lane, None if every_tenant else tenant_id, ALL_BLOCKED))
        probes |= _longest(kept)
    return Verdict(tuple(dict.fromkeys(reasons)), frozenset(probes))


def none_fit(lacked: str) -> str:
    return NONE_FIT.format(lacked=lacked)


def is_of_workers(reason: str | None) -> bool:
    """It is about which workers are there, and may be out of date: who is there now is known better elsewhere."""
    return reason is not None and reason.startswith(OF_WORKERS)


def _against(starving: Starving, tenant_id: TenantId, blocks: Sequence[KeptAway]) -> list[KeptAway]:
    return [
        each
        for each in blocks
        if each.structure_hash in (starving.structure_hash, EVERY_STRUCTURE) and each.tenant_id in (None, tenant_id)
    ]


def _longest(kept: Mapping[WorkerId, Sequence[KeptAway]]) -> set[tuple[WorkerId, str]]:
    """The worker that has been kept away the longest tries again; unless one may try already."""
    if any(all(each.opens for each in against) for against in kept.values()):
        return set()
    longest = min(kept.values(), key=lambda against: min((each.since, each.worker_id) for each in against))
    return {(each.worker_id, each.structure_hash) for each in longest}
