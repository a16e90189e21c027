"""From zero, on a live server: how long after an order a provider is asked for a machine."""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import uuid4

import httpx2
from rich.progress import Progress

from bench.dispatch.ground import SIGNING_KEY, Ground, migrate, stand_on, temporary_folder
from bench.report import Report
from bench.scaling.scale import Scale
from comfyfleet import fleet, machines
from comfyfleet.bootstrap import build_house
from comfyfleet.house import House
from comfyfleet.kernel.ids import EffectId
from comfyfleet.scaling import MachineClass, ScalingSettings
from comfyfleet.settings import Settings
from comfyfleet.workflows import effects
from comfyfleet.workflows.effects import NewEffect
from tests.builders import Member, a_member, a_workflow
from tests.server import ServerProcess, server_process

EFFECT, STAGE = "asked", "bench"
# Notes when it is asked to launch. Nothing runs: what is measured ends here.
PROVIDER = """#!/bin/sh
read -r asked
case "$asked" in
  *'"launch"'*) date +%s.%N >> {folder}/launches; echo '{{"ids": []}}' ;;
  *) echo '{{"machines": []}}' ;;
esac
"""
DECIDED_WITHIN_S = 60.0
ASKED_WITHIN_S = 60.0
LOOK_EVERY_S = 0.02


def measure_ask(scale: Scale, report: Report, progress: Progress) -> None:
    """Each try has a fleet of its own, at a random time of the loop's interval."""
    task = progress.add_task("ask", total=scale.asks)
    waits = []
    with temporary_folder() as folder, stand_on(folder) as ground:
        asyncio.run(migrate(ground))
        with _control_plane(ground) as (server, settings):
            for number in range(scale.asks):
                waits.append(asyncio.run(_try(Site(server, settings, folder), number)))
                progress.advance(task)
    report.add({"ask_s": median(waits), "ask_max_s": max(waits)})


@dataclass(frozen=True, slots=True)
class Site:
    server: ServerProcess
    settings: Settings
    folder: Path


@contextmanager
def _control_plane(ground: Ground) -> Iterator[tuple[ServerProcess, Settings]]:
    central_url = ground.central("scaling_central")
    pools = {"main": ground.cluster.create("scaling_pool", template="bench_tenant")}
    home = ground.folder / "server"
    home.mkdir()
    given = {"DATABASE_URL": central_url, "POOLS": json.dumps(pools), "SECRET_KEY": SIGNING_KEY, "LOG_LEVEL": "warning"}
    with server_process(home, **given) as server:
        yield server, Settings(home=server.home, database_url=central_url, pools=pools, secret_key=SIGNING_KEY)


async def _try(site: Site, number: int) -> float:
    folder = site.folder / f"provider-{number}"
    await asyncio.to_thread(_write_provider, folder)
    house = build_house(site.settings)
    try:
        member, effect_id = await _furnish(house, folder, number)
    finally:
        await house.close()
    async with httpx2.AsyncClient(base_url=site.server.url, timeout=30) as client:
        await _until_decided(client, site.server, number)
        await asyncio.sleep(random.uniform(0.0, 10.0))
        order = {"effect_id": str(effect_id), "properties": {}, "idempotency_key": uuid4().hex}
        ordered_at = time.time()
        made = await client.post("/api/ai-jobs", json=order, headers=member.headers)
        made.raise_for_status()
        return await _asked_at(folder / "launches") - ordered_at


def _write_provider(folder: Path) -> None:
    folder.mkdir()
    (folder / "provider.sh").write_text(PROVIDER.format(folder=folder))


async def _furnish(house: House, folder: Path, number: int) -> tuple[Member, EffectId]:
    """A fleet that scales from zero, with one effect that nobody else can run."""
    slug = f"{EFFECT}-{number}"
    member = await a_member(house, tokens=10)
    workflow = await a_workflow(house, slug)
    async with house.control_tx() as tx:
        new = NewEffect(slug, "Asked", credits_cost=1, waits_for_worker=True)
        effect = await effects.add_effect(tx, new, workflow=workflow.slug)
        await effects.publish_effect(tx, slug)
        made = await fleet.create_fleet(tx, slug=slug, stage=STAGE, name="Bench")
        await fleet.assign_workflow(tx, made.id, workflow.id)
        config = {"command": f"sh {folder}/provider.sh"}
        settings = ScalingSettings(classes=(MachineClass("gpu"),))
        await machines.set_fleet_scaling(tx, made, settings, adapter="command", adapter_settings=config)
    return member, effect.id


async def _until_decided(client: httpx2.AsyncClient, server: ServerProcess, number: int) -> None:
    """The server knows the fleet, and that it is empty."""
    path = f"/api/admin/fleets/{EFFECT}-{number}/{STAGE}/scaling"
    ends = time.monotonic() + DECIDED_WITHIN_S
    while (await client.get(path, headers=server.operator)).json()["at"] is None:
        if time.monotonic() > ends:
            raise RuntimeError(f"the server did not look at the fleet within {DECIDED_WITHIN_S:g} s")
        await asyncio.sleep(0.1)


async def _asked_at(path: Path) -> float:
    ends = time.monotonic() + ASKED_WITHIN_S
    while not await asyncio.to_thread(_has_line, path):
        if time.monotonic() > ends:
            raise RuntimeError(f"no machine was asked for within {ASKED_WITHIN_S:g} s")
        await asyncio.sleep(LOOK_EVERY_S)
    return float((await asyncio.to_thread(path.read_text)).split()[0])


def _has_line(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")
