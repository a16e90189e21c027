"""Ids that come in a body or a query, from the API's own description: a foreign one is as good as an unknown one."""

import itertools
from collections.abc import Iterator

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet import fleet
from comfyfleet.dispatch import Holder
from comfyfleet.fleet import NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import WorkerId, new_id
from comfyfleet.settings import Settings
from tests.api.asking import Json, Operation, operations, planted
from tests.api.world import World, build_world, rows, with_two_pools, without
from tests.conftest import Databases
from tests.database.dispatch.test_queue import Queue

Spot = tuple[str | int, ...]
ELSEWHERE = {
    "POST /api/payments/credit": "its signature is the credential: test_payments.py",
    "POST /api/votes": "it takes one of one's own to compare with: test_pipelines.py",
    "POST /api/worker/register": "a journal proves what it names: worker/test_takeovers.py",
}
# Whose ids stand for a field.
KINDS = {"beside": "candidate_id", "original_file_id": "file_id", "mask": "file_id"}
# What the refusal must speak of: else something else was wrong, and the id was never looked at.
SPEAKS_OF = {
    "video_id": "There is no video",
    "file_id": "There is no file",
    "original_file_id": "There is no file",
    "effect_id": "There is no effect",
    "mask": "properties.mask: there is no such file",
    "dispatch_id": "lost",
    "pipeline_id": "There is no pipeline",
}
PORTRAIT: Json = {"properties": {"prompt": "a cat"}, "video_id": None}
MASKED: Json = {"properties": {"prompt": "a cat", "mask": None}}
LEASE: Json = {"worker_id": "gpu-2", "dispatch_id": None, "lease_token": "1.AAAA"}
OUTPUT: Json = {"name": "a.png", "mime_type": "image/png", "size": 3}
# Bodies in which nothing is wrong but the id.
BASES: dict[str, Json] = {
    "POST /api/ai-jobs video_id": {"effect": "portrait", **PORTRAIT},
    "POST /api/ai-jobs effect_id": {"effect_id": None},
    "POST /api/ai-jobs properties.mask": {"effect": "dream", **MASKED},
    "POST /api/effects/{effect_slug}/run video_id": PORTRAIT,
    "POST /api/effects/{effect_slug}/run file_id": {**PORTRAIT, "file_id": None},
    "POST /api/effects/{effect_slug}/run properties.mask": MASKED,
    "POST /api/pipeline-runs pipeline_id": {"pipeline_id": None, "target_folder": "x", "variants": 1, "top": 1},
    "POST /api/videos original_file_id": {"original_file_id": None},
    "POST /api/worker/complete dispatch_id": {**LEASE, "outputs": []},
    "POST /api/worker/events events.0.dispatch_id": {
        "worker_id": "gpu-2",
        "events": [{"kind": "progress", "dispatch_id": None, "lease_token": "1.AAAA"}],
    },
    "POST /api/worker/fail dispatch_id": {**LEASE, "error": "x"},
    "POST /api/worker/heartbeat dispatch_id": LEASE,
    "POST /api/worker/heartbeat leases.0.dispatch_id": {
        "worker_id": "gpu-2",
        "leases": [{"dispatch_id": None, "lease_token": "1.AAAA", "progress": 0.5, "input_url_seconds": 0}],
    },
    "POST /api/worker/outputs dispatch_id": {**LEASE, "outputs": [OUTPUT]},
    "POST /api/worker/requeue dispatch_id": {**LEASE, "reason": "x"},
}
# Looked up nowhere: what the caller has heard, and need not be told again.
HEARD = "POST /api/worker/notices heard.0"
BASES[HEARD] = {"worker_id": "gpu-2", "heard": [None]}
# What the description cannot know: properties of an effect that are files.
FREE: dict[str, Spot] = {
    "POST /api/ai-jobs": ("properties", "mask"),
    "POST /api/effects/{effect_slug}/run": ("properties", "mask"),
}


@pytest.fixture
def settings(settings: Settings, databases: Databases) -> Settings:
    return with_two_pools(settings, databases)


@pytest.fixture
async def world(client: httpx2.AsyncClient, house: House) -> World:
    return await build_world(client, house)


def named(app: FastAPI) -> Iterator[tuple[Operation, Spot]]:
    for operation in operations(app):
        if not operation.for_operators and str(operation) not in ELSEWHERE:
            yield from ((operation, spot) for spot in operation.body_ids)
            yield from ((operation, FREE[each]) for each in FREE if each == str(operation))


async def at_work(house: House) -> tuple[dict[str, str], dict[str, object]]:
    """A worker's credential, and jobs that are none of its own: one that waits, one that another worker holds."""
    queue = Queue(house)
    async with house.control_tx() as tx:
        crew = await fleet.find_fleet(tx, "video", "production")
        made = await fleet.register_worker(tx, NewWorker("gpu-2", "127.0.0.1"), fleet=crew, rules=house.fleet_rules)
    grant = await queue.lease(Holder(WorkerId(new_id()), 1))
    assert grant is not None
    foreign: dict[str, object] = {"another worker's dispatch": grant.dispatch_id, "a dispatch": await queue.add()}
    return {"Authorization": f"Bearer {made.token.reveal()}"}, foreign


async def test_a_foreign_id_in_a_body_is_answered_like_an_unknown_one(
    client: httpx2.AsyncClient, app: FastAPI, house: House, world: World
) -> None:
    worker, dispatches = await at_work(house)
    cases = {f"{operation} {'.'.join(map(str, spot))}": (operation, spot) for operation, spot in named(app)}
    assert set(cases) == set(BASES)
    before, asked = await rows(house), 0
    for name, (operation, spot) in cases.items():
        field, url = str(spot[-1]), operation.url(effect_slug="dream" if "mask" in name else "portrait")
        foreign = dispatches if operation.for_workers else world.foreign[KINDS.get(field, field)]
        credentials = {"a worker": worker} if operation.for_workers else world.attackers
        for (whose, foreign_id), (who, headers) in itertools.product(foreign.items(), credentials.items()):
            found, texts = [], []
            for each in (str(foreign_id), str(new_id())):
                answer = await client.post(url, json=planted(BASES[name], spot, each), headers=headers)
                found.append(answer)
                texts.append(without(answer.text, {"it": each}))
            case = f"{who} asks {name} with {whose}: {found[0].text}"
            assert found[0].status_code == found[1].status_code, case
            assert texts[0] == texts[1], case
            if name != HEARD:
                assert found[0].status_code >= 400 or found[0].json()["lost"], case
                assert SPEAKS_OF[field] in texts[0], case
            asked += 1
    assert asked >= 60
    assert await rows(house) == before


async def test_a_foreign_id_in_a_query_finds_nothing(client: httpx2.AsyncClient, app: FastAPI, world: World) -> None:
    asked = 0
    for operation in operations(app):
        for name in operation.query_ids if not operation.for_operators else ():
            url, expected = operation.url(), 404 if operation.ids else 200
            for whose, foreign_id in world.foreign[KINDS.get(name, name)].items():
                for headers in world.attackers.values():
                    answer = await client.get(url, params={name: str(foreign_id)}, headers=headers)
                    unknown = await client.get(url, params={name: str(new_id())}, headers=headers)
                    assert (answer.status_code, answer.text) == (expected, unknown.text), (operation, whose)
                    asked += 1
    assert asked >= 8
