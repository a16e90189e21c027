"""Pictures of runs whose gates a scorer opens are scored as they come; a gate opens when all of its step are.

The arithmetic is done in media's limited process, one picture at a time: uploads must not wait for it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

import structlog

from comfyfleet import pipelines
from comfyfleet.house import House
from comfyfleet.kernel.errors import MediaRefused, StorageUnavailable
from comfyfleet.kernel.ids import CandidateId, RunId, TenantId
from comfyfleet.pipelines import Candidate, scoring
from comfyfleet.pipelines.scoring import Unscored

NAME = "score_candidates"
EVERY_S = 10.0
BATCH = 20
# A replica that dies with a run in its hands keeps it from the others for so long.
TAKEN_S = 60.0
# A step may hold more; beyond them nobody is looked at by a scorer.
STEP_MAX = 4_000

log = structlog.get_logger()


@dataclass
class Scoring:
    """`wanted`: gates that wait for it, as the runs told. A gate that is forgotten here is told again.

    `on_opened`: a run can go on.
    """

    house: House
    pool: str
    on_opened: Callable[[], None] | None = None
    wanted: dict[tuple[RunId, int], TenantId] = field(default_factory=dict)

    def want(self, tenant_id: TenantId, run_id: RunId, position: int) -> None:
        self.wanted[run_id, position] = tenant_id

    async def tick(self) -> int:
        async with self.house.pool_tx(self.pool) as tx:
            taken = await scoring.take_runs(tx, rows=BATCH, seconds=TAKEN_S)
        more = False
        for tenant_id, run_id in taken:
            more = await self._score(tenant_id, run_id) or more
        gates, self.wanted = self.wanted, {}
        for (run_id, position), tenant_id in gates.items():
            await self._open(tenant_id, run_id, position)
        return BATCH if more or len(taken) >= BATCH else len(taken)

    async def _score(self, tenant_id: TenantId, run_id: RunId) -> bool:
        """So many of a run, then the others have their turn. True: there are more."""
        async with self.house.pool(self.pool).tenant_tx(tenant_id, read_only=True) as tx:
            found = await scoring.list_unscored(tx, run_id, rows=BATCH)
        scores = [(each.id, await self._measure(each)) for each in found]
        async with self.house.pool(self.pool).tenant_tx(tenant_id) as tx:
            if scores:
                await pipelines.record_scores(tx, run_id, scores)
            return not await scoring.leave_scored(tx, run_id)

    async def _measure(self, candidate: Unscored) -> dict[str, float]:
        """Nothing, of a picture that cannot be read: it is not asked for again."""
        if not candidate.is_there:
            return {}
        if candidate.disk != self.house.store.disk:
            raise StorageUnavailable(problem=f"the picture of {candidate.id} is on {candidate.disk!r}")
        try:
            scored = await self.house.prober.score(
                partial(self.house.store.read_range, candidate.key),
                size_bytes=candidate.size_bytes,
                media_type=candidate.media_type,
                field="candidate",
            )
        except MediaRefused as problem:
            log.warning("runs.not_scored", candidate_id=str(candidate.id), problem=problem.message)
            return {}
        return asdict(scored)

    async def _open(self, tenant_id: TenantId, run_id: RunId, position: int) -> None:
        pool = self.house.pool(self.pool)
        async with pool.tenant_tx(tenant_id, read_only=True) as tx:
            run = await pipelines.read_run_of_house(tx, run_id)
            ranked = await scoring.list_step(tx, run_id, position, rows=STEP_MAX)
        if run is None or run.approval.scorer is None or ranked is None:
            return
        scorer = run.approval.scorer
        choice = await asyncio.to_thread(scoring.choose, scorer, ranked, top=run.top)
        async with pool.tenant_tx(tenant_id) as tx:
            opened = await pipelines.approve_by_scorer(
                tx, run_id, position, passed_over=choice.passed_over, scorer=scorer
            )
            if opened:
                await pipelines.record_scores(tx, run_id, _with_unique(ranked, choice.unique))
        if opened:
            self.house.live.changed_runs([run_id])
        if opened and self.on_opened is not None:
            self.on_opened()


def _with_unique(
    ranked: Sequence[Candidate], unique: Mapping[CandidateId, float]
) -> list[tuple[CandidateId, dict[str, float]]]:
    return [(each.id, {**(each.scores or {}), "unique": unique[each.id]}) for each in ranked if each.id in unique]
