"""The loops of one pool that carry jobs and runs on, and how they call each other."""

import random
from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise

from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId, TenantId
from comfyfleet.pipelines import Advanced
from comfyfleet.upkeep import (
    advance_runs,
    apply_settlements,
    draw_thumbs,
    relay_submissions,
    resume_runs,
    score_candidates,
)
from comfyfleet.upkeep.advance_runs import GoingOn, KeptRecipes
from comfyfleet.upkeep.draw_thumbs import Drawing
from comfyfleet.upkeep.loop import Loop, loop_of
from comfyfleet.upkeep.relay_submissions import Sender
from comfyfleet.upkeep.score_candidates import Scoring


class RunLoops:
    """A job has ended → its run goes on → what it begins is sent; and what it made is scored and drawn."""

    def __init__(
        self,
        house: House,
        pool: str,
        *,
        chance: random.Random,
        webhooks: Loop,
        on_queued: Callable[[], None] | None = None,
    ) -> None:
        self._webhooks = webhooks
        self._sender = Sender(house, pool, on_queued)
        self._scoring, self._drawing = Scoring(house, pool), Drawing(house, pool)
        self._relay = loop_of(relay_submissions, self._sender.tick, pool)
        self._scores = loop_of(score_candidates, self._scoring.tick, pool)
        self._thumbs = loop_of(draw_thumbs, self._drawing.tick, pool)
        recipes = KeptRecipes(house)
        advance = partial(
            advance_runs.tick,
            house,
            pool,
            rng=chance,
            on_begun=self._begun,
            on_score=self._want_score,
            on_missed=self._missed,
            kept=recipes,
        )
        self._runs = loop_of(advance_runs, advance, pool)
        self._scoring.on_opened = self._runs.wake
        self._resume = loop_of(resume_runs, partial(resume_runs.tick, house, pool, on_resumed=self._runs.wake), pool)
        settle = partial(
            apply_settlements.tick,
            house,
            pool,
            chance=chance,
            on_runs=self._made,
            going_on=GoingOn(recipes, chance, self._went_on),
        )
        self._settlers = [loop_of(apply_settlements, settle, pool) for _ in range(apply_settlements.AT_ONCE)]
        for one, beside in pairwise(self._settlers):
            # It does nothing by itself: the first one is the safety net.
            one.beside, beside.name, beside.every_s = beside, f"{beside.name} beside", 60.0

    @property
    def all(self) -> list[Loop]:
        return [self._relay, self._runs, self._resume, self._scores, self._thumbs, *self._settlers]

    def _made(self, tenant_id: TenantId, run_ids: Collection[RunId], are_due: bool) -> None:
        self._drawing.want(tenant_id, run_ids)
        self._scores.wake_soon()
        self._thumbs.wake_soon()
        if are_due:
            self._runs.wake()

    async def _went_on(self, tenant_id: TenantId, found: Advanced) -> None:
        # First what a worker waits for; then whoever else has something to do.
        if found.submissions:
            await self._sender.send_now(found.submissions, self._relay.wake)
        self._webhooks.wake_soon()
        for run_id, position in found.to_score:
            self._want_score(tenant_id, run_id, position)
        if found.has_more or found.left_due > len(found.to_score):
            self._runs.wake()

    def _begun(self) -> None:
        self._relay.wake()
        self._webhooks.wake()

    def _missed(self) -> None:
        self._runs.wake_in(advance_runs.AGAIN_S)

    def _want_score(self, tenant_id: TenantId, run_id: RunId, position: int) -> None:
        self._scoring.want(tenant_id, run_id, position)
        self._scores.wake()
