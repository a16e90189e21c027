"""The same jobs three ways: by the worker, by the seed's loop, and straight into the server's own queue."""

import time
from collections.abc import Sequence
from uuid import uuid4

import httpx2

from bench.worker.scale import FILE_BYTES
from bench.worker.seed_loop import SeedLoop
from bench.worker.site import FLEET, GRAPH, STAGE, Site
from bench.worker.timeline import Execution, Journey, match_fetches

START_S = 60.0
SLACK = 4.0  # how many times as long as it should take it may take
LOOK_S = 0.02
DEPTH = 2


def by_worker(site: Site, jobs: int, seconds: float) -> list[Journey]:
    """All ordered before it starts: while it works, work waits."""
    site.executions(), site.passed()
    ordered = site.order_many(jobs, seconds)
    with site.worker() as worker:
        site.until_visible(ordered, worker, within_s=_within_s(jobs, seconds))
    return journeys(site, ordered)


def journeys(site: Site, ordered: Sequence[str]) -> list[Journey]:
    runs = {run.prompt_id: run for run in site.executions()}
    fetched, sent = site.passed()
    granted = {str(row["dispatch_id"]): row["granted_at"].timestamp() for row in site.attempts(ordered)}
    inputs = match_fetches(granted, fetched)
    found = []
    for job_id, row in site.dispatches(ordered).items():
        run = runs[row["provider_job_id"]]
        completed = row["finished_at"].timestamp()
        visible = site.witness.seen[job_id]
        found.append(Journey(granted[job_id], inputs.get(job_id), run, sent[job_id], completed, visible))
    return found


def by_seed_loop(site: Site, jobs: int, seconds: float) -> list[Execution]:
    site.executions()
    ordered = site.order_many(jobs, seconds)
    with SeedLoop(site.link_url, site.engine_url, site.plant.fleet_secret, fleet=FLEET, stage=STAGE) as loop:
        ends = time.monotonic() + _within_s(jobs, seconds + 4.0)
        while not site.witness.has_seen(ordered) and time.monotonic() < ends:
            loop.turn()
    return site.executions()


def by_own_queue(site: Site, jobs: int, seconds: float) -> list[Execution]:
    """Nothing to fetch and nothing to bring: as busy as this server can be."""
    site.executions()
    inputs = {**GRAPH["1"]["inputs"], "file": "limit.png", "seconds": seconds, "bytes": FILE_BYTES}
    (site.engine_folder / "input" / "limit.png").write_bytes(b"there")
    with httpx2.Client(base_url=site.engine_url, timeout=30) as server:
        posted = 0
        while posted < jobs or _remaining(server) > 0:
            while posted < jobs and _remaining(server) < DEPTH:
                posted += 1
                graph = {"1": {**GRAPH["1"], "inputs": {**inputs, "seed": posted}}}
                server.post("/prompt", json={"prompt": graph, "prompt_id": str(uuid4())}).raise_for_status()
            time.sleep(LOOK_S)
    return site.executions()


def _remaining(server: httpx2.Client) -> int:
    return int(server.get("/prompt").json()["exec_info"]["queue_remaining"])


def _within_s(jobs: int, seconds: float) -> float:
    return START_S + SLACK * jobs * (seconds + 1.0)
