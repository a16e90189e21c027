"""What attempts of a job left in the store, and no row names: of lost leases, of crashed workers, of results not kept.

Only long after the job has ended: nobody can get a signed request for it any more, and the last one has expired. A PUT
that began while its URL lived may still end later (S3 takes it): the job is looked at once more when it expires.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet import storage
from comfyfleet.db import PoolTx
from comfyfleet.jobs import sql
from comfyfleet.kernel.ids import JobId, TenantId
from comfyfleet.storage import ObjectKey, ObjectStore, object_key

# At one look: a worker may have left any number of objects, and other jobs wait.
ERASED_MAX = 500


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Where attempts of a job could write, and what of it is to stay."""

    job_id: JobId
    tenant_id: TenantId
    kept: frozenset[ObjectKey]

    @property
    def folder(self) -> ObjectKey:
        return object_key("tenants", self.tenant_id, "ai-jobs", self.job_id)


async def list_leftovers(tx: PoolTx, *, age_s: float, rows: int) -> list[Leftovers]:
    """Of jobs that ended so long ago and were not looked at since."""
    found = await tx.all(sql.uncollected(age_s=age_s, rows=rows))
    made = await tx.all(sql.made_by([row.id for row in found])) if found else []
    keys = await storage.keys_of(tx, [row.file_id for row in made])
    kept: dict[JobId, set[ObjectKey]] = defaultdict(set)
    for row in made:
        if row.file_id in keys:
            kept[row.job_id].add(keys[row.file_id])
    return [Leftovers(row.id, row.tenant_id, frozenset(kept[row.id])) for row in found]


@dataclass(frozen=True, slots=True)
class Erased:
    """`is_all`: nothing is left but what is kept; else there is more for the next look."""

    objects: int
    is_all: bool


async def erase_leftovers(store: ObjectStore, left: Leftovers) -> Erased:
    """Up to `ERASED_MAX` objects. The store is asked, no transaction is open."""
    erased, names_max = 0, ERASED_MAX + len(left.kept) + 1
    for attempt in await store.list_names(left.folder):
        folder = object_key(*left.folder.split("/"), attempt.rstrip("/"))
        for name in await store.list_names(folder, names_max=names_max):
            key = object_key(*folder.split("/"), name)
            if key in left.kept:
                continue
            if erased >= ERASED_MAX:
                return Erased(erased, is_all=False)
            await store.delete(key)
            erased += 1
    return Erased(erased, is_all=True)


async def mark_collected(tx: PoolTx, job_ids: Sequence[JobId]) -> int:
    return await tx.run(sql.mark_collected(list(job_ids))) if job_ids else 0
