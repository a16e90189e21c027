"""Who is calling, may it work now, and when was it last heard of? For many at once."""

from collections.abc import Collection, Mapping, Sequence

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.fleet import sql
from comfyfleet.fleet.lifecycle import LIVE, WorkerStatus
from comfyfleet.fleet.model import Sighting, Standing, Worker
from comfyfleet.kernel.errors import FleetError, Superseded, Unauthenticated
from comfyfleet.kernel.ids import FleetId, WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret

UNKNOWN = "The worker token is not valid. Register again."


async def authenticate_workers(
    tx: ControlTx, presented: Sequence[tuple[Secret, str]]
) -> list[Worker | Superseded | Unauthenticated]:
    """By bearer token and name. A name that exists under another token was taken over by a newer process."""
    digests = [secret.digest() for secret, _ in presented]
    by_token = {row.token_hash: Worker.from_row(row) for row in await tx.all(sql.by_tokens(digests))}
    strangers = [name for digest, (_, name) in zip(digests, presented, strict=True) if digest not in by_token]
    named = {row.worker_id: row.status for row in await tx.all(sql.by_names(strangers))} if strangers else {}
    return [_judge(by_token.get(digest), name, named) for digest, (_, name) in zip(digests, presented, strict=True)]


def _judge(worker: Worker | None, name: str, named: Mapping[str, str]) -> Worker | Superseded | Unauthenticated:
    """How a stranger lost its token decides what it should do next."""
    if worker is None and named.get(name) == WorkerStatus.REVOKED:
        return Unauthenticated("This worker was revoked. An operator must approve it again.")
    if worker is None and name in named:
        return Superseded(name)
    if worker is None or worker.worker_id != name:
        return Unauthenticated(UNKNOWN)
    if worker.status not in LIVE:
        return Unauthenticated(f"This worker is {worker.status.value}. Register again.")
    return worker


async def authenticate_worker(tx: ControlTx, presented: Secret, *, worker_id: str) -> Worker:
    """The same for one."""
    found = (await authenticate_workers(tx, [(presented, worker_id)]))[0]
    if isinstance(found, FleetError):
        raise found
    return found


async def require_token(tx: ControlTx, presented: Secret) -> None:
    if not await tx.all(sql.by_tokens([presented.digest()])):
        raise Unauthenticated(UNKNOWN)


async def hold_workers(tx: ControlTx, worker_ids: Collection[WorkerId]) -> dict[WorkerId, Standing]:
    """As they stand at this instant, held until the transaction ends: a revocation waits, or wins."""
    await take_turns(tx, worker_ids)
    ids = list(worker_ids)
    rows = await tx.all(sql.workers_now(), rows=batch([{"id": each, "n": n} for n, each in enumerate(ids)]))
    return {ids[n]: Standing(ids[n], *rest) for n, *rest in map(tuple, rows)}


def refusal(now: Standing | None, known: Worker) -> Superseded | Unauthenticated | None:
    """Why a worker known from before gets no answer, if it does not."""
    if now is not None and now.status == WorkerStatus.REVOKED:
        return Unauthenticated("This worker was revoked. An operator must approve it again.")
    if now is not None and now.incarnation != known.incarnation:
        return Superseded(known.worker_id)
    if now is None or now.status not in LIVE or now.token_hash != known.token_hash:
        return Unauthenticated("The worker token is no longer valid. Register again.")
    return None


async def take_turns(tx: ControlTx, worker_ids: Collection[WorkerId]) -> None:
    """Whoever leases for a worker, or changes what it may do, comes after the one before has committed."""
    await tx.all(sql.take_turns(), rows=batch([{"id": each} for each in worker_ids]))


async def touch_workers(tx: ControlTx, sightings: Sequence[Sighting]) -> None:
    rows = [{"id": each.worker_id, "ago_s": each.ago_s, "load": each.current_load} for each in sightings]
    await tx.run(sql.touch(), rows=batch(rows))


async def own_workflows(tx: ControlTx, worker_ids: Collection[WorkerId]) -> list[tuple[WorkerId, WorkflowId]]:
    """What workers registered with by name, active or not."""
    return [(row.worker_id, row.workflow_id) for row in await tx.all(sql.own_workflows(sorted(worker_ids)))]


async def active_workflows(tx: ControlTx) -> dict[WorkflowId, int]:
    """With the version in force of each."""
    return {row.id: row.version for row in await tx.all(sql.active_workflows())}


async def fleet_workflows(tx: ControlTx, fleet_id: FleetId) -> frozenset[WorkflowId]:
    return frozenset(row.id for row in await tx.all(sql.workflows_of_fleet(fleet_id)))
