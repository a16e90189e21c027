"""A job's files all the way: from a real control plane over a real engine into its store; and through Comfy Cloud."""

import asyncio
import io
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image, ImageChops

from comfyfleet import fleet
from comfyfleet.bootstrap import build_house
from comfyfleet.comfy.cloud import CloudConnector, CloudSettings
from comfyfleet.comfy.model import Completed, Prompt, new_prompt_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.worker.assets import AssetCache
from comfyfleet.worker.fetch_assets import fetched_assets
from comfyfleet.worker.inputs import CACHE, ServerInputs
from comfyfleet.worker.outputs import deliver_outputs
from comfyfleet.worker.prepare import Mark, prepare_graph, read_payload
from comfyfleet.worker.transfer import Transfer
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import NewEffect
from tests.builders import a_workflow
from tests.contract.comfy.cloud.walking import JumpingClock
from tests.engines import an_engine
from tests.fake_cloud import KEY, PICTURE, fake_cloud
from tests.made_media import a_picture
from tests.worker.files.far_store import FarStore
from tests.worker.files.test_assets import an_asset
from tests.worker.files.test_outputs import Minting
from tests.worker.plant import FLEET, STAGE, Plant
from tests.worker.workers import a_worker, eventually

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "theirs.png"}},
    "2": {"class_type": "LoadImage", "inputs": {"image": "ours.png"}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "side/overlay"}},
    "4": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
    "5": {"class_type": "SaveImage", "inputs": {"images": ["4", 0], "filename_prefix": "main"}},
    "6": {"class_type": "PreviewAny", "inputs": {"source": "some words"}},
    "7": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}},
}
PROPERTIES: list[dict[str, Any]] = [
    {"name": "picture", "type": "image", "node": "1", "input_name": "image", "is_primary_input": True},
    {"name": "overlay", "type": "image", "node": "2", "input_name": "image"},
]
OVERLAY = a_picture(width=40, height=40)


async def offer(plant: Plant, slug: str) -> None:
    """With a file of its own, as operators give it."""
    house = build_house(plant.settings)
    try:
        workflow = await a_workflow(
            house, f"{slug}-graph", graph=GRAPH, properties=read_properties(PROPERTIES), output_node="5"
        )
        async with house.control_tx() as tx:
            new = NewEffect(
                slug,
                slug,
                overrides={"overlay": "overlay"},
                fixed=frozenset({"overlay"}),
                credits_cost=1,
                waits_for_worker=True,
            )
            effect = await effects.add_effect(tx, new, workflow=workflow.slug)
            kept = effects.describe_asset(effect.id, OVERLAY, "image/png")
            await effects.keep_asset(house.store, kept, OVERLAY)
            await effects.put_asset(tx, slug, "overlay", kept)
            await effects.publish_effect(tx, slug)
            crew = await fleet.find_fleet(tx, FLEET, STAGE)
            await fleet.assign_workflow(tx, crew.id, effect.workflow_id)
    finally:
        await house.close()


def pixels(content: bytes) -> Any:
    return Image.open(io.BytesIO(content)).convert("RGB")


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_from_the_users_file_to_the_users_file(plant: Plant, tmp_path: Path) -> None:
    await offer(plant, "overlay")
    picture, folder, home = a_picture(), tmp_path / "comfyui", tmp_path / "home"
    async with an_engine(folder) as engine, a_worker(plant, home, engine.url, name="files", comfyui_dir=folder):
        video = await asyncio.to_thread(plant.upload, picture)
        jobs = [await asyncio.to_thread(plant.order, "overlay", video_id=video) for _ in range(2)]
        for job in jobs:
            assert await asyncio.to_thread(plant.ends, job) == "completed"
        made = [await asyncio.to_thread(plant.output, job) for job in jobs]
        await eventually(lambda: not engine.engine.history.all(), "no history entry of ours")
        await eventually(lambda: len(files_in(folder)) == 1, "only the cache is left on the server")
    inverted = Image.eval(pixels(picture), lambda value: 255 - value)
    for each in made:
        # ComfyUI computes in fractions, and rounds down.
        assert all(high <= 1 for _, high in ImageChops.difference(pixels(each), inverted).getextrema())
    [kept] = files_in(folder)
    assert kept.startswith(f"input/{CACHE}/")
    assert (folder / kept).read_bytes() == OVERLAY
    assert not [name for name in files_in(home) if "/jobs/" in name]
    outputs = plant.server.home / "objects" / "objects"
    for job in jobs:
        delivered = list(outputs.rglob(f"*{job}*/*/output-*"))
        assert sorted(path.suffix for path in delivered) == [".png", ".png", ".png", ".txt"]
        assert any(path.read_bytes() == b"some words" for path in delivered)


async def test_the_same_steps_through_comfy_cloud(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    kept = an_asset(store, "overlay", OVERLAY)
    asset = {
        "name": "overlay",
        "url": kept.url,
        "media_type": "image/png",
        "content_hash": kept.content_hash,
        "targets": [{"node": "2", "input_name": "image"}],
    }
    work = read_payload(msgspec.json.encode({"workflow": GRAPH, "assets": [asset], "output_node_id": "9"}))
    mark = Mark(new_prompt_id(), date(2026, 11, 16))
    cache = AssetCache(tmp_path / "assets", bytes_max=10**6, transfer=transfer)
    await cache.open()
    with fake_cloud() as cloud:
        settings = CloudSettings(url=cloud.url)
        async with CloudConnector(Secret(KEY), settings=settings, clock=JumpingClock(), chance=lambda: 0.0) as server:
            inputs = ServerInputs(server, cache_bytes_max=0)
            async with fetched_assets(work.assets, cache=cache, transfer=transfer, folder=tmp_path / "work") as paths:
                names = await inputs.place(work.assets, paths, mark)
            prompt = Prompt(prepare_graph(work, names, mark), mark.nonce, output_node=work.output_node)
            await server.submit(prompt)
            told = [each async for each in server.watch(prompt, deadline_s=600)]
            assert isinstance(told[-1], Completed)
            given = {"connector": server, "transfer": transfer, "mint": Minting(store), "folder": tmp_path / "work"}
            delivered = await deliver_outputs(told[-1].outputs, **given)
            await inputs.close()
        sent = cloud.job.body["prompt"]
    await cache.close()
    assert sent["2"]["inputs"]["image"] == names["overlay"]
    assert sent["3"]["inputs"]["filename_prefix"] == f"{mark.folder}/side/overlay"
    assert [(each.name, store.puts[each.path]) for each in delivered] == [("cat_00001_.png", PICTURE)]
