"""What is left when the drain is over, read from the databases, the logs and the workers' records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.builders import balance
from tests.chaos.drain import Drain
from tests.chaos.processes import run_audit
from tests.chaos.records import Records
from tests.chaos.stage import Customer, Stage

JOBS_OF_TENANT = """SELECT j.id, j.status, j.reserved_tokens AS price,
 (SELECT count(*) FROM token_transactions t WHERE t.job_id = j.id AND t.type = 'JOB_RESERVE') AS reserved,
 (SELECT count(*) FROM token_transactions t WHERE t.job_id = j.id AND t.type = 'JOB_CONSUME') AS consumed,
 (SELECT count(*) FROM token_transactions t WHERE t.job_id = j.id AND t.type = 'JOB_REFUND') AS refunded
 FROM ai_jobs j WHERE j.tenant_id = :tenant_id"""
DISPATCHES = "SELECT id, status, done_epoch, epoch, attempts, settled_at FROM ai_job_dispatches"
SETTLEMENTS = "SELECT dispatch_id, applied_at, parked_at, last_error FROM settlements"
DEADLOCKS = "SELECT coalesce(sum(deadlocks), 0) FROM pg_stat_database"
# Where tests/postgres.py has its servers write; nothing on a server that was given.
LOG_OF_POSTGRESQL = "SELECT pg_read_file(current_setting('data_directory') || '/../log', 0, 100000000, true)"
# What a replica writes when something happened that nobody had thought of.
SURPRISES = ("request.crashed", "Traceback", "exception")


@dataclass(frozen=True)
class Account:
    customer: Customer
    jobs: Sequence[Any]
    balance: int


@dataclass(frozen=True)
class Outcome:
    drain: Drain
    records: Records
    accounts: list[Account]
    dispatches: dict[str, Any]
    settlements: Sequence[Any]
    deadlocks: int
    deadlocked: str
    surprises: list[str]
    audit_code: int
    audit: str

    def report(self) -> str:
        statuses = Counter(each.status for each in self.dispatches.values())
        facts = {
            "jobs": len(self.dispatches),
            "workers": sum(len(process.names) for process in self.drain.crew),
            "drained and settled in s": round(self.drain.took_s, 1),
            **{f"jobs {status}": count for status, count in sorted(statuses.items())},
            **{kind.value: count for kind, count in sorted(self.drain.blows.items())},
            "connections cut": self.drain.connections_cut,
            "cancellations asked for": self.drain.cancels,
            **self.records.figures(),
            "audits while it went on": self.drain.audits,
            "most leases a job took": max(each.epoch for each in self.dispatches.values()),
            "deadlocks": self.deadlocks,
        }
        return "\n".join(f"{name:>52}  {value}" for name, value in facts.items())


async def read_outcome(drain: Drain, folder: Path, settings: dict[str, str]) -> Outcome:
    stage = drain.stage
    central = stage.house.central
    code, said = await run_audit(folder, settings)
    return Outcome(
        drain=drain,
        records=Records.read(folder),
        accounts=[await _account(stage, customer) for customer in stage.customers],
        dispatches={str(row.id): row for row in await stage.ask(central, DISPATCHES)},
        settlements=await stage.ask(central, SETTLEMENTS),
        deadlocks=int((await stage.ask(central, DEADLOCKS))[0][0]),
        deadlocked=_around("deadlock detected", (await stage.ask(central, LOG_OF_POSTGRESQL))[0][0] or ""),
        surprises=[line for replica in drain.replicas for line in surprises_in(replica.log)],
        audit_code=code,
        audit=said,
    )


async def _account(stage: Stage, customer: Customer) -> Account:
    pool = stage.house.pool(customer.tenant.pool)
    rows = await stage.ask(pool, JOBS_OF_TENANT, tenant_id=customer.tenant.id)
    return Account(customer, rows, await balance(stage.house, customer.tenant, customer.user))


def _around(words: str, log: str) -> str:
    """What a server wrote of it, with the statements."""
    lines = log.splitlines()
    found = [number for number, line in enumerate(lines) if words in line]
    return "\n".join(line[:600] for number in found for line in lines[number : number + 12])


def surprises_in(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if any(word in line for word in SURPRISES)]
