"""A worker that holds several jobs is told to leave, and another finishes them: what did that cost?"""

import random
import signal
import time
from dataclasses import dataclass

from bench.worker.site import Site, wait_for

AHEAD = 3
HELD = AHEAD + 1  # one runs
WAITING = HELD + 2
SECONDS = 1.0
WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class Drained:
    held: int  # leases of those who were told to leave, at that moment
    given_back: int
    attempts: int  # that counted and brought no result
    expired: int


def measure(site: Site, *, drains: int, chance: random.Random) -> Drained:
    """Each time a new worker goes on where the last one left, at a moment by chance; the last may finish."""
    jobs: list[str] = []
    held = 0
    settings = {"LEASE_AHEAD": str(AHEAD)}
    for _ in range(drains):
        jobs += site.order_many(WAITING - _unseen(site, jobs), SECONDS)
        with site.worker(**settings) as worker:
            _until_held(site, jobs)
            time.sleep(chance.uniform(0.0, 2 * SECONDS))
            held += _leased(site, jobs)
            worker.tell(signal.SIGTERM)
            worker.wait(WITHIN_S)
    with site.worker(**settings) as worker:
        site.until_visible(jobs, worker, within_s=WITHIN_S)
    rows = site.dispatches(jobs).values()
    spent = sum(int(row["attempts"]) - int(row["releases"]) for row in rows)
    expired = sum(row["reason"] in ("expired", "deadline") for row in site.attempts(jobs))
    return Drained(held, sum(int(row["releases"]) for row in rows), spent - len(jobs), expired)


def _until_held(site: Site, jobs: list[str]) -> None:
    wait_for(lambda: _leased(site, jobs) >= HELD, f"a worker holds {HELD} jobs", within_s=WITHIN_S)


def _unseen(site: Site, jobs: list[str]) -> int:
    return sum(job_id not in site.witness.seen for job_id in jobs)


def _leased(site: Site, jobs: list[str]) -> int:
    return sum(row["status"] == "leased" for row in site.dispatches(jobs).values())
