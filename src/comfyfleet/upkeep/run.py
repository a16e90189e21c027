"""Which loops a process runs: some for the central database, some for each pool, so that no pool waits for another."""

import random
from collections.abc import Callable
from functools import partial

from comfyfleet.house import House
from comfyfleet.upkeep import (
    checkpoint_audit,
    collect_outputs,
    collect_uploads,
    deliver_notifications,
    deliver_webhooks,
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
    publish_cloudwatch,
    report_replica,
    retire_workers,
    scale_fleets,
    tell_starts,
    verify_audit,
    watch_conditions,
)
from comfyfleet.upkeep.deliver_notifications import NotificationCourier
from comfyfleet.upkeep.deliver_webhooks import Courier
from comfyfleet.upkeep.loop import Loop, loop_of
from comfyfleet.upkeep.mirror_candidates import Mirror
from comfyfleet.upkeep.report_replica import ReplicaReporter
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.upkeep.run_loops import RunLoops
from comfyfleet.upkeep.scale_fleets import FleetScaler
from comfyfleet.upkeep.watch_conditions import ConditionWatch


def loops_of(house: House, *, rules: UpkeepRules) -> list[Loop]:
    chance = random.Random()  # noqa: S311 back-offs are no secrets
    reporter = ReplicaReporter(house, rules.folders)
    central = [
        loop_of(expire_leases, partial(expire_leases.tick, house, chance=chance)),
        loop_of(promote_delayed, partial(promote_delayed.tick, house)),
        loop_of(fail_overdue, partial(fail_overdue.tick, house)),
        loop_of(explain_waiting, partial(explain_waiting.tick, house)),
        loop_of(retire_workers, partial(retire_workers.tick, house)),
        *own_loops(house, reporter),
        *_notifying(house, chance=chance, rules=rules),
        loop_of(forget_old, partial(forget_old.tick, house, rules=rules)),
        loop_of(checkpoint_audit, partial(checkpoint_audit.tick, house)),
        loop_of(verify_audit, partial(verify_audit.tick, house)),
    ]
    if rules.cloudwatch_region is not None:
        publish = partial(publish_cloudwatch.tick, house, region=rules.cloudwatch_region)
        central.append(loop_of(publish_cloudwatch, publish))
    scaler = FleetScaler(house, every_s=rules.scaling_every_s)
    scaling = loop_of(scale_fleets, scaler.tick)
    scaling.every_s, scaling.close = rules.scaling_every_s, scaler.close
    central.append(scaling)
    queued = partial(scaler.queued, scaling.wake_soon)
    for pool in house.pools:
        central += _loops_of_pool(house, pool, chance=chance, rules=rules, on_queued=queued)
        if rules.mirror is not None:
            central.append(loop_of(mirror_candidates, Mirror(house, pool, rules.mirror).tick, pool))
    reporter.loops = central
    return central


def own_loops(house: House, reporter: ReplicaReporter) -> list[Loop]:
    """Also where others do upkeep: which jobs began is known to the process that their workers told it, and so is how
    much room it has on its disks."""
    reporter.loops = [
        loop_of(tell_starts, partial(tell_starts.tick, house)),
        loop_of(report_replica, reporter.tick),
    ]
    return list(reporter.loops)


def _notifying(house: House, *, chance: random.Random, rules: UpkeepRules) -> list[Loop]:
    courier = NotificationCourier(house, chance=chance)
    sending = loop_of(deliver_notifications, courier.tick)
    sending.close, courier.on_done = courier.close, sending.wake
    watch = ConditionWatch(house, rules.alerts_every_s, rules.alert_times, on_told=sending.wake)
    return [sending, Loop(watch_conditions.NAME, rules.alerts_every_s, watch_conditions.BATCH, watch.tick)]


def _loops_of_pool(
    house: House, pool: str, *, chance: random.Random, rules: UpkeepRules, on_queued: Callable[[], None]
) -> list[Loop]:
    webhooks = _webhooks(house, pool, chance=chance, rules=rules)
    sent = partial(forget_old.tick_pool, house, pool, rules=rules)
    return [
        *RunLoops(house, pool, chance=chance, webhooks=webhooks, on_queued=on_queued).all,
        loop_of(collect_uploads, partial(collect_uploads.tick, house, pool), pool),
        webhooks,
        loop_of(collect_outputs, partial(collect_outputs.tick, house, pool), pool),
        loop_of(follow_cancels, partial(follow_cancels.tick, house, pool), pool),
        # Videos first: a job whose result a video shows goes when that is gone.
        loop_of(expire_videos, partial(expire_videos.tick, house, pool, rules=rules), pool),
        loop_of(expire_jobs, partial(expire_jobs.tick, house, pool, rules=rules), pool),
        loop_of(expire_files, partial(expire_files.tick, house, pool, rules=rules), pool),
        Loop(forget_old.NAME_POOL, forget_old.EVERY_S, forget_old.BATCH, sent, pool),
    ]


def _webhooks(house: House, pool: str, *, chance: random.Random, rules: UpkeepRules) -> Loop:
    courier = Courier(house, pool, chance=chance, allowed=rules.webhook_networks)
    loop = Loop(
        deliver_webhooks.NAME, deliver_webhooks.EVERY_S, deliver_webhooks.BATCH, courier.tick, pool, courier.close
    )
    # Where one has been sent there may be another of the same endpoint, which was not to wait for its answer.
    courier.on_done = loop.wake
    return loop
