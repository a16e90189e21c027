"""What is left when the storm is over, read from the databases, the store, the engines' disks and the logs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from comfyfleet.bootstrap import build_house
from comfyfleet.upkeep import collect_outputs
from tests.builders import balance
from tests.chaos.fleet.blows import Kind
from tests.chaos.fleet.stage import Stage, ask, read_settings
from tests.chaos.fleet.storm import Hit, Storm
from tests.chaos.fleet.undisturbed import make_undisturbed, number_of, what_is_wrong
from tests.chaos.outcome import DISPATCHES, JOBS_OF_TENANT
from tests.chaos.processes import run_audit

ATTEMPTS = """SELECT a.dispatch_id, a.epoch, a.granted_at, a.confirmed_at, a.ended_at, a.reason, w.worker_id AS worker
 FROM dispatch_attempts a JOIN comfyui_workers w ON w.id = a.worker_id ORDER BY a.granted_at"""
ERRORS = "SELECT id, error_class, last_error, attempts, releases FROM ai_job_dispatches WHERE status = 'failed'"
FILES = "SELECT path FROM files WHERE status = 'stored'"
# Nothing was spent: it was delivered, given back, or nobody wanted it any more.
FREE = frozenset({"completed", "requeued", "cancelled"})
# What may cost an attempt, by what its end is called. A drain is none of them, nor a replica's death.
COSTS = {
    "infra": {Kind.ENGINE_KILLED, Kind.ENGINE_RESTARTED},
    "expired": {Kind.CONTROL_AWAY, Kind.WORKER_KILLED},
    "worker_restarted": {Kind.WORKER_KILLED},
}
# A prompt that was lost is looked for for a while before anybody says so.
AFTERWARDS = timedelta(seconds=60)
# What a process writes when something happened that nobody had thought of.
SURPRISES = ("request.crashed", "Traceback", '"exception"', "_broke", "job.broke", "not_closed", "ending_refused")
DAY_LATER_S = 100_000.0


@dataclass(frozen=True)
class Account:
    jobs: Sequence[Any]
    balance: int


@dataclass
class Outcome:
    storm: Storm
    accounts: list[Account]
    dispatches: dict[str, Any]
    attempts: Sequence[Any]
    failed: dict[str, Any]
    wrong: dict[int, str]
    files_checked: int
    unnamed_before: int
    unnamed: set[str]
    missing: set[str]
    runs: Counter[int]
    surprises: list[str]
    audit_code: int
    audit: str
    left: dict[str, list[str]] = field(default_factory=dict)

    def unexplained(self) -> list[str]:
        """Attempts that were spent though nobody hit their unit in a way that costs one."""
        spent = [each for each in self.attempts if each.reason not in FREE]
        return [self._told(each) for each in spent if not self._is_explained(each)]

    def _is_explained(self, attempt: Any) -> bool:
        return any(_explains(hit, attempt) for hit in self.storm.hits) or self._stalled(attempt)

    def _stalled(self, attempt: Any) -> bool:
        """It ran out because nobody on this machine was answered in time."""
        stalls = self.storm.stalls if attempt.reason == "expired" else []
        return any(each.began <= attempt.ended_at and attempt.granted_at <= each.ended for each in stalls)

    def _told(self, attempt: Any) -> str:
        """With whatever was hit at that time, for whoever looks for the cause."""
        near = [
            f"{hit.kind.name} {hit.target} {hit.began:%H:%M:%S.%f} to {hit.ended:%H:%M:%S.%f}"
            for hit in self.storm.hits
            if hit.target in (attempt.worker, "door") or hit.kind is Kind.REPLICA_KILLED
            if hit.began <= attempt.ended_at and attempt.granted_at <= hit.ended + AFTERWARDS
        ]
        times = f"{attempt.granted_at:%H:%M:%S.%f}, {attempt.confirmed_at}, to {attempt.ended_at:%H:%M:%S.%f}"
        what = f"{attempt.dispatch_id} {attempt.epoch} on {attempt.worker}: {attempt.reason} {times}"
        return f"{what}; {'; '.join(near)}"

    def report(self) -> str:
        hits = Counter(hit.kind.value for hit in self.storm.hits)
        jobs = [job for account in self.accounts for job in account.jobs]
        statuses = Counter(job.status for job in jobs)
        ends = Counter(each.reason for each in self.attempts)
        facts = {
            "jobs": len(jobs),
            "workers, and as many engines": len(self.storm.stage.units),
            "took s": round(self.storm.took_s, 1),
            "jobs that stood or ran at once, at most": self.storm.most_behind,
            **{f"jobs {status}": count for status, count in sorted(statuses.items())},
            "blows": len(self.storm.hits),
            **dict(sorted(hits.items())),
            "users' calls asked again": sum(each.asked_again for each in self.storm.stage.customers),
            "attempts": len(self.attempts),
            **{f"attempts ended: {reason}": count for reason, count in sorted(ends.items(), key=str)},
            "most leases a job took": max(each.epoch for each in self.dispatches.values()),
            "runs on engines that keep their files": sum(self.runs.values()),
            "of these of an order that had run to its end there": sum(self.runs.values()) - len(self.runs),
            "output files compared byte by byte": self.files_checked,
            "objects nobody names, before upkeep": self.unnamed_before,
            "and after": len(self.unnamed),
            "audits while it went on": self.storm.audits,
            "stalls of the machine": len(self.storm.stalls),
        }
        lines = [f"{name:>72}  {value}" for name, value in facts.items()]
        return "\n".join([*lines, *(f"not explained: {each}" for each in self.unexplained())])


def _explains(hit: Hit, attempt: Any) -> bool:
    return (
        hit.target == attempt.worker
        and hit.kind in COSTS.get(attempt.reason, ())
        and hit.began <= attempt.ended_at
        and attempt.granted_at <= hit.ended + AFTERWARDS
    )


async def read_outcome(storm: Storm) -> Outcome:
    stage = storm.stage
    central = stage.house.central
    wrong, checked = await _compare(storm)
    before = _objects(stage) - await _named(stage)
    await _collect(stage)
    named = await _named(stage)
    objects = _objects(stage)
    code, said = await run_audit(stage.folder, stage.settings)
    return Outcome(
        storm=storm,
        accounts=[await _account(stage, number) for number in range(len(stage.customers))],
        dispatches={str(row.id): row for row in await ask(central, DISPATCHES)},
        attempts=await ask(central, ATTEMPTS),
        failed={str(row.id): row for row in await ask(central, ERRORS)},
        wrong=wrong,
        files_checked=checked,
        unnamed_before=len(before),
        unnamed={key for key in objects - named if "/ai-jobs/" in key},
        missing=named - objects,
        runs=_runs(stage),
        surprises=_surprises(stage),
        audit_code=code,
        audit=said,
        left={unit.name: unit.journal for unit in stage.units if unit.journal},
    )


async def _compare(storm: Storm) -> tuple[dict[int, str], int]:
    """Every file of every completed job, as its user gets it."""
    right = await make_undisturbed(storm.orders, storm.stage.folder / "undisturbed")
    wrong: dict[int, str] = {}
    checked = 0
    for order in storm.orders:
        customer = storm.stage.customers[order.customer]
        job = await customer.job(storm.jobs[order.number])
        if job["status"] != "completed":
            continue
        made, wanted = await customer.outputs(job), right[order.subject]
        checked += len(made)
        if len(made) != len(wanted):
            wrong[order.number] = f"{len(made)} files instead of {len(wanted)}"
            continue
        problems = [what_is_wrong(*pair, order) for pair in zip(made, wanted, strict=True)]
        if any(problems):
            wrong[order.number] = "; ".join(each for each in problems if each)
    return wrong, checked


async def _account(stage: Stage, number: int) -> Account:
    member = stage.customers[number].member
    question = f"{JOBS_OF_TENANT} AND j.user_id = :user_id"
    pool = stage.house.pool(member.tenant.pool)
    rows = await ask(pool, question, tenant_id=member.tenant.id, user_id=member.user.id)
    return Account(rows, await balance(stage.house, member.tenant, member.user))


async def _collect(stage: Stage) -> None:
    """Upkeep, a day later."""
    house = build_house(read_settings(stage.settings), clock_offset_s=lambda: DAY_LATER_S)
    try:
        for pool in house.pools:
            while await collect_outputs.tick(house, pool):
                pass
    finally:
        await house.close()


async def _named(stage: Stage) -> set[str]:
    rows = [row for pool in stage.house.pools.values() for row in await ask(pool, FILES)]
    return {str(row.path) for row in rows}


def _objects(stage: Stage) -> set[str]:
    files = [each for each in (stage.objects / "tenants").rglob("*") if each.is_file()]
    return {str(each.relative_to(stage.objects)) for each in files}


def _runs(stage: Stage) -> Counter[int]:
    """Orders that ran to their first file, on engines whose worker cannot delete them."""
    kept = [unit.engine_folder / "output" for unit in stage.units if not unit.same_machine]
    files = [each for folder in kept for each in folder.rglob("*_00001_.png")]
    return Counter(number for each in files if (number := number_of(each)) is not None)


def _surprises(stage: Stage) -> list[str]:
    logs = [each.log for each in stage.replicas]
    logs += [each.log for unit in stage.units for each in (unit.worker, unit.engine)]
    return [f"{log.parent.name}/{log.name}: {line}" for log in logs for line in _strange(log)]


def _strange(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [line[:2000] for line in lines if any(word in line for word in SURPRISES)]
