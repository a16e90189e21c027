"""What the gallery shows of the demo's effects: each one's own result, drawn once by the server that will run them."""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import structlog

from comfyfleet import workflows
from comfyfleet.audit import Action, Actor, record_action
from comfyfleet.comfy.graph import bind_values
from comfyfleet.comfy.model import FetchedFile
from comfyfleet.demo.catalogue import DemoEffect, SampleName
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError, NotFound
from comfyfleet.pool import Pool
from comfyfleet.workflows import effects
from comfyfleet.workflows.effects import PREVIEW, Effect

SAMPLES: dict[SampleName, str] = {"picture": "picture.png", "clip": "clip.mp4"}
DRAWN_WITHIN_S = 120.0
RUN_S_MAX = 300.0

# What samples are drawn with; the extra `engine` brings them.
LIBRARIES = ("av", "numpy", "PIL")

log = structlog.get_logger()


def samples_can_be_drawn() -> bool:
    return all(find_spec(library) for library in LIBRARIES)


async def draw_previews(house: House, actor: Actor, server: str, chosen: Sequence[DemoEffect]) -> None:
    """Those that are missing. An effect that the server cannot run stays without one."""
    drawn_here = [each for each in chosen if each.sample is None or samples_can_be_drawn()]
    missing = [(each, found) for each in drawn_here if (found := await _without_preview(house, each)) is not None]
    if not missing:
        return
    with tempfile.TemporaryDirectory(prefix="comfyfleet-previews-") as folder:
        if any(effect.sample is not None for effect, _ in missing):
            await _draw_samples(Path(folder))
        async with Pool([server], reconnect_grace_s=0.0) as pool:
            # The quick ones first: users wait for the same server.
            for effect, found in sorted(missing, key=lambda each: each[0].expected_s):
                try:
                    drawn = await _draw(pool, effect, Path(folder))
                    await _keep(house, actor, found, drawn)
                except FleetError as problem:
                    log.warning("demo.no_preview", effect=effect.slug, problem=problem.message)


async def _without_preview(house: House, effect: DemoEffect) -> Effect | None:
    async with house.control_tx(read_only=True) as tx:
        try:
            found = (await effects.find_offer(tx, effect.slug)).effect
        except NotFound:  # somebody did not want it
            return None
    return found if PREVIEW not in found.assets else None


async def _draw_samples(folder: Path) -> None:
    """In a process of its own: this one need not carry the libraries for pictures and films from then on."""
    drawing = await asyncio.create_subprocess_exec(sys.executable, "-m", "comfyfleet.demo.samples", str(folder))
    try:
        async with asyncio.timeout(DRAWN_WITHIN_S):
            await drawing.wait()
    finally:
        if drawing.returncode is None:
            drawing.kill()
            await drawing.wait()


async def _draw(pool: Pool, effect: DemoEffect, folder: Path) -> FetchedFile:
    _, graph = workflows.read_graph_text(effect.graph())
    inputs = {}
    if effect.primary_input is not None and effect.sample is not None:
        place = (str(effect.primary_input.node), str(effect.primary_input.input_name))
        inputs[place] = folder / SAMPLES[effect.sample]
    result = await pool.run(
        bind_values(graph, {}, effect.shown),
        inputs=inputs,
        save_to=folder / effect.slug,
        deadline_s=RUN_S_MAX,
        attempts_max=1,
    )
    return result.files[0]


async def _keep(house: House, actor: Actor, effect: Effect, drawn: FetchedFile) -> None:
    content = await asyncio.to_thread(drawn.path.read_bytes)
    described = effects.describe_asset(effect.id, content, drawn.output.media_type)
    await effects.keep_asset(house.store, described, content)
    async with house.control_tx() as tx:
        await effects.put_asset(tx, effect.slug, PREVIEW, described)
        detail = {"asset": PREVIEW, "content_hash": described.content_hash}
        await record_action(tx, actor, Action("effect.put_asset", effect.slug, detail), signer=house.chain)
