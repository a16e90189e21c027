"""The pool against what its servers could do at best, what it burns a job, and what it burns with nothing to do.

`pool_efficiency`: rounds of the pool and rounds of a bare driver take turns on the same four engines. The bare driver
keeps two prompts at each engine with nothing but a socket and a POST: that is the engines' own limit at depth 2.
"""

import asyncio
import json
from statistics import median
from time import perf_counter, process_time
from typing import Any
from uuid import uuid4

import httpx2
from websockets.asyncio.client import connect

from bench.comfy.far_ends import far_ends
from comfyfleet.pool import Pool, ServerState

ENGINES = 4
DEPTH = 2
PROMPT_S = 0.1
IDLE_SERVERS = 200


async def figures(quick: bool) -> dict[str, float | None]:
    rounds, jobs = (2, 48) if quick else (5, 160)
    return {
        **await measure_efficiency(rounds=rounds, jobs=jobs),
        "idle_200_core_share": await measure_idle(seconds=5.0 if quick else 30.0),
    }


async def measure_efficiency(*, rounds: int, jobs: int) -> dict[str, float | None]:
    ratios, cpu_ms, pool_rates, bare_rates = [], [], [], []
    async with far_ends("engines", ENGINES) as urls, Pool(urls, depth=DEPTH) as pool:
        await run_pool(pool, ENGINES * DEPTH)  # sockets up, code warm
        for _ in range(rounds):
            bare = await run_bare(urls, jobs)
            burnt_s = process_time()
            pooled = await run_pool(pool, jobs)
            cpu_ms.append((process_time() - burnt_s) / jobs * 1000)
            ratios.append(pooled / bare)
            pool_rates.append(pooled)
            bare_rates.append(bare)
    return {
        "pool_efficiency": median(ratios),
        "pool_cpu_ms": median(cpu_ms),
        "pool_jobs_s": median(pool_rates),
        "engines_jobs_s": median(bare_rates),
    }


def sleeping_graph() -> dict[str, Any]:
    """Never the same twice: an engine would answer the second from its cache."""
    seed = uuid4().int % 2**63
    return {
        "1": {
            "class_type": "FleetSleep",
            "inputs": {"seconds": PROMPT_S, "steps": 1, "seed": seed, "previews": False},
        },
        "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}},
    }


async def run_pool(pool: Pool, jobs: int) -> float:
    """Jobs a second."""
    began = perf_counter()
    await asyncio.gather(*(pool.run(sleeping_graph()) for _ in range(jobs)))
    return jobs / (perf_counter() - began)


async def run_bare(urls: list[str], jobs: int) -> float:
    async with httpx2.AsyncClient() as http:
        began = perf_counter()
        await asyncio.gather(*(drive_engine(http, url, jobs // len(urls)) for url in urls))
        return jobs / (perf_counter() - began)


async def drive_engine(http: httpx2.AsyncClient, url: str, jobs: int) -> None:
    client_id = uuid4().hex
    async with connect(f"{url.replace('http', 'ws', 1)}/ws?clientId={client_id}", max_size=None) as socket:
        posted = done = 0
        while done < jobs:
            while posted < min(jobs, done + DEPTH):
                body = {"prompt": sleeping_graph(), "client_id": client_id}
                (await http.post(f"{url}/prompt", json=body)).raise_for_status()
                posted += 1
            heard = await socket.recv()
            done += isinstance(heard, str) and json.loads(heard)["type"] == "execution_success"


async def measure_idle(*, seconds: float) -> float:
    async with far_ends("idle", IDLE_SERVERS) as urls, Pool(urls) as pool:
        states = pool.events("client:state")
        while any(server.state is not ServerState.ONLINE for server in pool.servers):
            await anext(states)
        await asyncio.sleep(2.0)  # they have told about themselves
        burnt_s, began = process_time(), perf_counter()
        await asyncio.sleep(seconds)
        return (process_time() - burnt_s) / (perf_counter() - began)
