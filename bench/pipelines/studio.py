"""A tenant with two effects and a pipeline of three steps, on databases of its own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.dispatch.ground import Ground
from bench.jobs.studio import SLUG, Studio, open_studio, user_id
from comfyfleet import pipelines, workflows
from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId, WorkflowId
from comfyfleet.pipelines import Approval, NewRun, Pipeline
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import NewEffect

REFINE = "bench-refine"
GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "x.png"}},
    "2": {"class_type": "KSampler", "inputs": {"seed": 1, "image": ["1", 0]}},
    "3": {"class_type": "SaveImage", "inputs": {"filename_prefix": "bench", "images": ["2", 0]}},
}
PROPERTIES: list[dict[str, Any]] = [
    {"name": "picture", "type": "image", "node": "1", "input_name": "image", "is_primary_input": True},
    {"name": "seed", "type": "seed", "node": "2", "input_name": "seed"},
]
STEPS = [
    {"name": "Base", "effect": SLUG, "properties": {"prompt": "a cat"}},
    {"name": "Refine", "effect": REFINE, "needs": {"parent": True}},
    {"name": "Finish", "effect": REFINE, "needs": {"parent": True}},
]
JOBS_AT_ONCE_MAX = 1_000


@asynccontextmanager
async def open_pipeline(ground: Ground, name: str) -> AsyncIterator[tuple[Studio, House, Pipeline, WorkflowId]]:
    """With the second workflow: the first is the studio's."""
    async with open_studio(ground, name) as (studio, house):
        new = workflows.prepare_version(
            json.dumps(GRAPH).encode(), properties=read_properties(PROPERTIES), output_node="3"
        )
        await workflows.keep_graph(house.store, new)
        async with house.control_tx() as tx:
            flow = await workflows.add_workflow(tx, new, slug=REFINE, name="Refine")
            await effects.add_effect(
                tx, NewEffect(REFINE, "Refine", credits_cost=10, waits_for_worker=True), workflow=REFINE
            )
            await effects.publish_effect(tx, REFINE)
        offers = await read_offers(house)
        said = pipelines.parse_pipeline({"name": "Bench", "steps": STEPS})
        async with house.tenant_tx(studio.home) as tx:
            pipeline, _ = await pipelines.apply_pipeline(tx, said, user_id=user_id(0), offers=offers)
        yield studio, house, pipeline, flow.id


async def read_offers(house: House) -> Any:
    async with house.control_tx(read_only=True) as tx:
        return await effects.take_offers(tx, {SLUG, REFINE})


async def start_run(studio: Studio, house: House, pipeline: Pipeline, number: int, **given: Any) -> RunId:
    offers = await read_offers(house)
    said = {"name": f"run {number}", "variables": {}, "target_folder": f"run-{number}", "approval": Approval("all")}
    new = NewRun(pipeline.id, user_id(number), seed=number, **{**said, **given})
    async with house.tenant_tx(studio.home) as tx:
        run, _ = await pipelines.create_run(tx, new, offers=offers, concurrency_max=JOBS_AT_ONCE_MAX)
    return run.id
