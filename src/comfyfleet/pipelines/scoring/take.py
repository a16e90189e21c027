"""What is to be scored is taken, for a while, by one replica; and left when nothing of it is without scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.kernel.ids import CandidateId, RunId, TenantId
from comfyfleet.pipelines import sql as runs_sql
from comfyfleet.pipelines.model import Candidate
from comfyfleet.pipelines.scoring import sql
from comfyfleet.pipelines.tree import sql as tree_sql
from comfyfleet.storage import ObjectKey
from comfyfleet.storage.lifecycle import FileStatus


@dataclass(frozen=True, slots=True)
class Unscored:
    """`is_there`: its picture can be read."""

    id: CandidateId
    key: ObjectKey
    disk: str
    media_type: str
    size_bytes: int
    is_there: bool


async def take_runs(tx: PoolTx, *, rows: int, seconds: float) -> list[tuple[TenantId, RunId]]:
    """Nobody else takes them for so long."""
    found = await tx.all(sql.due(rows=rows))
    if not found:
        return []
    mine = {row.id for row in await tx.all(sql.put_off([row.id for row in found], seconds=seconds))}
    return [(row.tenant_id, row.id) for row in found if row.id in mine]


async def list_unscored(tx: TenantTx, run_id: RunId, *, rows: int) -> list[Unscored]:
    return [
        Unscored(row.id, ObjectKey(row.path), row.disk, row.mime_type, row.size, row.file_status == FileStatus.STORED)
        for row in await tx.all(sql.unscored(run_id, rows=rows))
    ]


async def leave_scored(tx: TenantTx, run_id: RunId) -> bool:
    """False: more came meanwhile. Whoever adds a candidate holds the run's row as this does: none is overlooked."""
    if await tx.maybe(runs_sql.hold_run_of_house(), of_run=run_id) is None:
        return True
    has_more = bool(await tx.all(sql.unscored(run_id, rows=1)))
    await tx.run(sql.set_due(run_id, is_due=has_more))
    return not has_more


async def list_step(tx: TenantTx, run_id: RunId, position: int, *, rows: int) -> Sequence[Candidate] | None:
    """The best first, so many at most; None while one of them is without scores."""
    if await tx.all(sql.unscored(run_id, rows=1, position=position)):
        return None
    page = tree_sql.ranked_page(run_id, position, after_rank=None, after=None, rows=rows - 1)
    return [Candidate.from_row(row) for row in await tx.all(page)]
