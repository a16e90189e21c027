"""Which alert conditions hold now: the rules of `deploy/observe/rules.yaml`, asked of the databases instead of
Prometheus. Reads only. A database that does not answer leaves its conditions unknown."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from comfyfleet import notifications
from comfyfleet.db import ControlTx, PoolTx
from comfyfleet.gauges.conditions import sql
from comfyfleet.gauges.read import DECISION_HOLDS_S, READ_S, SILENT_S, GaugeReader, Reading
from comfyfleet.house import House
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError
from comfyfleet.notifications import CONDITIONS, AlertReading, AlertReadings, ReplicaReport
from comfyfleet.scaling import ALERTING_HOLDS

__all__ = ["read_conditions"]

HOUR_S = 3600.0
RECENT_S = 300.0
# How many times faster than allowed the error budget of 30 days burns: 2 % of it within an hour.
BURN = 14.4
EVENTS_MIN = 50
START_LATE_S, START_ALLOWED = 60.0, 0.01
FAIL_ALLOWED = 0.005
WEBHOOK_LATE_S, WEBHOOK_ALLOWED = 300.0, 0.01
# A webhook that arrives later than this after its event is not looked for.
WEBHOOK_LOOKED_BACK_S = 2 * HOUR_S
LEASES_S, EXPIRED_SHARE, EXPIRED_MIN = 600.0, 0.05, 5
LAG_S = 60.0
SPOT_S, SPOT_SHARE, SPOT_MIN = 600.0, 0.2, 2
DISK_SHARE = 0.05
# A replica reports every 30 s. One that is gone has no disks that anybody could free.
REPORT_FRESH_S = 180.0
LOOP_SLACK_S = 90.0

# Conditions that are read with the gauges of the central database.
OF_GAUGES = frozenset(
    ("NoWorkers", "OldestJobWaits", "SettlementsParked", "AuditAlarm", "RelayLags", "ScalingHeld", "ScalingSilent")
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class EventShare:
    """So many bad ones of all, over the long and the recent window."""

    bad: int = 0
    all: int = 0
    bad_recent: int = 0
    all_recent: int = 0

    def plus(self, other: "EventShare") -> "EventShare":
        return EventShare(
            self.bad + other.bad,
            self.all + other.all,
            self.bad_recent + other.bad_recent,
            self.all_recent + other.all_recent,
        )

    def burns(self, allowed: float) -> bool:
        """Both windows: the long one that it is no blip, the recent one that it is not over."""
        limit = BURN * allowed
        return (
            self.all > EVENTS_MIN
            and self.bad > limit * self.all
            and self.all_recent > 0
            and self.bad_recent > limit * self.all_recent
        )

    @property
    def text(self) -> str:
        return f"{self.bad} of {self.all} within an hour ({100 * self.bad / max(1, self.all):.1f} %)"


@dataclass(frozen=True, slots=True)
class CentralFacts:
    """What the central database says beyond the gauges."""

    success: EventShare
    start: EventShare
    leases_ended: int
    leases_expired: int
    fleets: Mapping[Any, str]
    fleets_of: Mapping[Any, Sequence[Any]]
    served_fleets: frozenset[Any]
    served_workflows: frozenset[Any]
    spot_lost: Mapping[str, tuple[int, int]]
    reports: Sequence[ReplicaReport]


async def read_conditions(house: House) -> AlertReadings:
    """Raises DatabaseUnavailable where the central database is away: then nothing could be noted either."""
    reader = GaugeReader(house, holds_s=0.0)
    await reader.read()
    async with house.control_tx(read_only=True) as tx:
        facts = await _central(tx)
    webhooks = await asyncio.gather(*(_webhooks(house, each) for each in house.pools))
    known = set(CONDITIONS)
    readings = [*_objectives(facts), *_leases(facts), *_spot(facts), *_loops(facts), *_disks(facts)]
    if reader.central is None:
        known -= OF_GAUGES
    else:
        readings += [*_queue(house, reader.central, facts), *_parked(reader.central), *_scaling(reader.central)]
    readings += _pools(reader)
    if None in reader.pools.values():
        known.discard("RelayLags")
    if None in webhooks:
        known.discard("WebhooksLate")
    arrived = EventShare()
    for each in webhooks:
        arrived = arrived.plus(each or EventShare())
    if arrived.burns(WEBHOOK_ALLOWED):
        readings.append(AlertReading("WebhooksLate", f"Arrived more than 5 minutes late: {arrived.text}."))
    return AlertReadings.of(readings, known=known)


# ── what is read ────────────────────────────────────────────────────────────────────────────


async def _central(tx: ControlTx) -> CentralFacts:
    at: datetime = (await tx.one(sql.time_now())).at
    recent = at - timedelta(seconds=RECENT_S)
    jobs = await tx.one(sql.ended_jobs(at - timedelta(seconds=HOUR_S), recent=recent, late_s=START_LATE_S))
    leases = await tx.one(sql.ended_leases(at - timedelta(seconds=LEASES_S)))
    fleets_of: dict[Any, list[Any]] = {}
    for row in await tx.all(sql.fleets_of_workflows()):
        fleets_of.setdefault(row.workflow_id, []).append(row.fleet_id)
    served_fleets = await tx.all(sql.fleets_with_workers(silent_s=SILENT_S))
    lost_of_spot = sql.spot_machines(at - timedelta(seconds=SPOT_S))
    served_workflows = await tx.all(sql.workflows_with_workers(silent_s=SILENT_S))
    return CentralFacts(
        success=EventShare(jobs.failed, jobs.counted, jobs.failed_recent, jobs.counted_recent),
        start=EventShare(jobs.late, jobs.started, jobs.late_recent, jobs.started_recent),
        leases_ended=leases.ended,
        leases_expired=leases.expired,
        fleets={row.id: f"{row.slug}/{row.stage}" for row in await tx.all(sql.fleet_names())},
        fleets_of=fleets_of,
        served_fleets=frozenset(row.fleet_id for row in served_fleets),
        served_workflows=frozenset(row.workflow_id for row in served_workflows),
        spot_lost={f"{row.slug}/{row.stage}": (row.lost, row.machines) for row in await tx.all(lost_of_spot)},
        reports=await notifications.list_reports(tx),
    )


async def _webhooks(house: House, pool: str) -> EventShare | None:
    try:
        async with asyncio.timeout(READ_S), house.pool_tx(pool, read_only=True) as tx:
            return await _arrived(tx)
    except (FleetError, TimeoutError) as problem:
        log.warning("conditions.not_read", database=pool, problem=str(problem) or "no answer in time")
        return None


async def _arrived(tx: PoolTx) -> EventShare:
    at: datetime = (await tx.one(sql.time_now())).at
    statement = sql.arrived_webhooks(
        at - timedelta(seconds=HOUR_S),
        made_since=at - timedelta(seconds=WEBHOOK_LOOKED_BACK_S),
        recent=at - timedelta(seconds=RECENT_S),
        late_s=WEBHOOK_LATE_S,
    )
    row = await tx.one(statement)
    return EventShare(row.late, row.arrived, row.late_recent, row.arrived_recent)


# ── what holds ──────────────────────────────────────────────────────────────────────────────


def _objectives(facts: CentralFacts) -> Iterator[AlertReading]:
    if facts.start.burns(START_ALLOWED):
        yield AlertReading("JobsStartLate", f"Waited more than 60 s before they started: {facts.start.text}.")
    if facts.success.burns(FAIL_ALLOWED):
        yield AlertReading("JobsFail", f"Failed: {facts.success.text}.")


def _leases(facts: CentralFacts) -> Iterator[AlertReading]:
    expired, ended = facts.leases_expired, facts.leases_ended
    if expired > EXPIRED_MIN and expired > EXPIRED_SHARE * ended:
        yield AlertReading("LeasesExpire", f"{expired} of {ended} leases that ended within 10 minutes ran out.")


def _queue(house: House, reading: Reading, facts: CentralFacts) -> Iterator[AlertReading]:
    unserved: dict[str, int] = {}
    limit_s = house.queue_rules.queue_deadline_s / 2
    for workflow_id, waiting in reading.queue.waiting.items():
        name = reading.names.get(str(workflow_id), str(workflow_id))
        if waiting.oldest_s is not None and waiting.oldest_s > limit_s:
            waited, limit = seconds_text(int(waiting.oldest_s)), seconds_text(int(limit_s))
            text = f"The oldest job has waited for {waited}; the limit is half of the queue deadline, {limit}."
            yield AlertReading("OldestJobWaits", text, name)
        fleets = facts.fleets_of.get(workflow_id, ())
        if waiting.queued and workflow_id not in facts.served_workflows and not facts.served_fleets & set(fleets):
            for subject in [facts.fleets[each] for each in fleets if each in facts.fleets] or [f"workflow {name}"]:
                unserved[subject] = unserved.get(subject, 0) + waiting.queued
    for subject, queued in unserved.items():
        text = f"{queued} jobs wait, and no worker that may take them was heard of within {seconds_text(SILENT_S)}."
        yield AlertReading("NoWorkers", text, subject)


def _parked(reading: Reading) -> Iterator[AlertReading]:
    if reading.parked:
        yield AlertReading("SettlementsParked", f"{reading.parked} settlements are parked.")
    if reading.alarms:
        yield AlertReading("AuditAlarm", f"{reading.alarms} audit alarms are not acknowledged.")


def _pools(reader: GaugeReader) -> Iterator[AlertReading]:
    for pool, found in reader.pools.items():
        if found is None:
            yield AlertReading("DatabaseAway", f"Pool {pool} does not answer.", pool)
            continue
        lags = {"submissions": found.submissions_lag_s, "webhooks": found.webhooks_lag_s}
        if reader.central is not None:
            lags["settlements"] = reader.central.settlements_lag_s.get(pool, 0.0)
        for relay, lag_s in lags.items():
            if lag_s > LAG_S:
                text = f"{relay} of pool {pool} are {seconds_text(int(lag_s))} behind; the limit is 60 s."
                yield AlertReading("RelayLags", text, f"{pool} {relay}")


def _loops(facts: CentralFacts) -> Iterator[AlertReading]:
    """A loop may succeed at any replica. One that only replicas run that are gone is no loop any more."""
    last: dict[str, tuple[float, float]] = {}
    for report in facts.reports:
        for loop, (success_ago_s, every_s) in report.loops.items():
            ago_s = success_ago_s + report.reported_ago_s
            last[loop] = min(last.get(loop, (ago_s, every_s)), (ago_s, every_s))
    running = {loop for report in facts.reports if report.reported_ago_s < REPORT_FRESH_S for loop in report.loops}
    for loop in sorted(running):
        ago_s, every_s = last[loop]
        if ago_s > LOOP_SLACK_S + 5 * every_s:
            last_text, every_text = seconds_text(int(ago_s)), seconds_text(int(every_s))
            text = f"{loop} last succeeded {last_text} ago; it should succeed every {every_text}."
            yield AlertReading("UpkeepSilent", text, loop)


def _disks(facts: CentralFacts) -> Iterator[AlertReading]:
    for report in facts.reports:
        if report.reported_ago_s >= REPORT_FRESH_S:
            continue
        for place, (free, total) in report.disks.items():
            if free < DISK_SHARE * total:
                text = f"{free / 1024**3:.1f} GiB of {total / 1024**3:.1f} GiB are free; the limit is 5 %."
                yield AlertReading("DiskFull", text, f"{place} of {report.replica}")


def _scaling(reading: Reading) -> Iterator[AlertReading]:
    for fleet, newest in reading.scaling.items():
        if newest.age_s > DECISION_HOLDS_S:
            text = f"No replica has decided for {seconds_text(int(newest.age_s))} how many machines it should have."
            yield AlertReading("ScalingSilent", text, fleet)
        elif held := [each.text for each in newest.decision.held if each.hold in ALERTING_HOLDS]:
            yield AlertReading("ScalingHeld", "; ".join(held), fleet)


def _spot(facts: CentralFacts) -> Iterator[AlertReading]:
    for fleet, (lost, machines) in facts.spot_lost.items():
        if lost > SPOT_MIN and lost > SPOT_SHARE * machines:
            yield AlertReading("SpotLost", f"{lost} of {machines} machines were lost to Spot in 10 minutes.", fleet)
