"""Which loops a process runs: some for the central database, some for each pool, so that no pool waits for another."""

import random
from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise
from typing import Any

from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId, TenantId
from comfyfleet.pipelines import Advanced
from comfyfleet.upkeep import (
    advance_runs,
    apply_settlements,
    checkpoint_audit,
    collect_outputs,
    collect_uploads,
    deliver_webhooks,
    draw_thumbs,
    expire_files,
    expire_jobs,
    expire_leases,
    expire_videos,
    explain_waiting,
    fail_overdue,
    follow_cancels,
    forget_old,
    mirror_candidates,
    promote_delayed,
    relay_submissions,
    retire_workers,
    score_candidates,
    tell_starts,
)
from comfyfleet.upkeep.advance_runs import GoingOn, KeptRecipes
from comfyfleet.upkeep.deliver_webhooks import Courier
from comfyfleet.upkeep.draw_thumbs import Drawing
from comfyfleet.upkeep.loop import Loop
from comfyfleet.upkeep.mirror_candidates import Mirror
from comfyfleet.upkeep.relay_submissions import Sender
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.upkeep.score_candidates import Scoring


def loops_of(house: House, *, rules: UpkeepRules) -> list[Loop]:
    chance = random.Random()  # noqa: S311 back-offs are no secrets
    central = [
        _loop(expire_leases, partial(expire_leases.tick, house, chance=chance)),
        _loop(promote_delayed, partial(promote_delayed.tick, house)),
        _loop(fail_overdue, partial(fail_overdue.tick, house)),
        _loop(explain_waiting, partial(explain_waiting.tick, house)),
        _loop(retire_workers, partial(retire_workers.tick, house)),
        _loop(tell_starts, partial(tell_starts.tick, house)),
        _loop(forget_old, partial(forget_old.tick, house, rules=rules)),
        _loop(checkpoint_audit, partial(checkpoint_audit.tick, house)),
    ]
    for pool in house.pools:
        central += _loops_of_pool(house, pool, chance=chance, rules=rules)
        if rules.mirror is not None:
            central.append(_loop(mirror_candidates, Mirror(house, pool, rules.mirror).tick, pool))
    return central


def _loops_of_pool(house: House, pool: str, *, chance: random.Random, rules: UpkeepRules) -> list[Loop]:
    sender = Sender(house, pool)
    relay = _loop(relay_submissions, sender.tick, pool)
    sent = partial(forget_old.tick_pool, house, pool, rules=rules)
    webhooks = _webhooks(house, pool, chance=chance, rules=rules)
    begun = partial(_wake, relay, webhooks)
    scoring = Scoring(house, pool)
    scores = _loop(score_candidates, scoring.tick, pool)
    runs: Loop
    recipes = KeptRecipes(house)
    advance = partial(
        advance_runs.tick,
        house,
        pool,
        rng=chance,
        on_begun=begun,
        on_score=partial(_want, scoring, scores),
        on_missed=lambda: runs.wake_in(advance_runs.AGAIN_S),
        kept=recipes,
    )
    runs = _loop(advance_runs, advance, pool)
    scoring.on_opened = runs.wake
    drawing = Drawing(house, pool)
    thumbs = _loop(draw_thumbs, drawing.tick, pool)

    def made(tenant_id: TenantId, run_ids: Collection[RunId], are_due: bool) -> None:
        drawing.want(tenant_id, run_ids)
        scores.wake_soon()
        thumbs.wake_soon()
        if are_due:
            runs.wake()

    async def went_on(tenant_id: TenantId, found: Advanced) -> None:
        # First what a worker waits for; then whoever else has something to do.
        if found.jobs:
            await sender.send_now(relay.wake)
        webhooks.wake_soon()
        for run_id, position in found.to_score:
            _want(scoring, scores, tenant_id, run_id, position)
        if found.has_more or found.left_due > len(found.to_score):
            runs.wake()
        if found.missed:
            runs.wake_in(advance_runs.AGAIN_S)

    going_on = GoingOn(recipes, chance, went_on)
    settled = partial(apply_settlements.tick, house, pool, chance=chance, on_runs=made, going_on=going_on)
    settlers = [_loop(apply_settlements, settled, pool) for _ in range(apply_settlements.AT_ONCE)]
    for one, beside in pairwise(settlers):
        # It does nothing by itself: the first one is the safety net.
        one.beside, beside.name, beside.every_s = beside, f"{beside.name} beside", 60.0
    return [
        relay,
        runs,
        scores,
        thumbs,
        *settlers,
        _loop(collect_uploads, partial(collect_uploads.tick, house, pool), pool),
        webhooks,
        _loop(collect_outputs, partial(collect_outputs.tick, house, pool), pool),
        _loop(follow_cancels, partial(follow_cancels.tick, house, pool), pool),
        # Videos first: a job whose result a video shows goes when that is gone.
        _loop(expire_videos, partial(expire_videos.tick, house, pool, rules=rules), pool),
        _loop(expire_jobs, partial(expire_jobs.tick, house, pool, rules=rules), pool),
        _loop(expire_files, partial(expire_files.tick, house, pool, rules=rules), pool),
        Loop(forget_old.NAME_POOL, forget_old.EVERY_S, forget_old.BATCH, sent, pool),
    ]


def _want(scoring: Scoring, scores: Loop, tenant_id: TenantId, run_id: RunId, position: int) -> None:
    scoring.want(tenant_id, run_id, position)
    scores.wake()


def _wake(*loops: Loop) -> None:
    for loop in loops:
        loop.wake()


def _webhooks(house: House, pool: str, *, chance: random.Random, rules: UpkeepRules) -> Loop:
    courier = Courier(house, pool, chance=chance, allowed=rules.webhook_networks)
    loop = Loop(
        deliver_webhooks.NAME, deliver_webhooks.EVERY_S, deliver_webhooks.BATCH, courier.tick, pool, courier.close
    )
    # Where one has been sent there may be another of the same endpoint, which was not to wait for its answer.
    courier.on_done = loop.wake
    return loop


def _loop(module: Any, tick: Callable[[], Any], pool: str | None = None) -> Loop:
    """The name, interval and batch stand in each loop's own file."""
    return Loop(module.NAME, module.EVERY_S, module.BATCH, tick, pool)
