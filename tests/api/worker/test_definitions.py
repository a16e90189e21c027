"""Workers report their servers' node classes; a graph of the editor is then converted without a word of anybody."""

import base64
from typing import Any

import pytest

from comfyfleet import fleet
from comfyfleet.comfy.graph import Definitions, pack_definitions
from comfyfleet.fleet.definitions.model import PER_WORKER_MAX
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import new_id
from comfyfleet.storage import ObjectKey
from tests.api.worker.conftest import HttpWorker, Yard
from tests.builders import an_operator_key
from tests.unit.comfy.graph.drawing import default_workflow
from tests.unit.comfy.graph.graphs import object_info


def definitions(**more: Any) -> Definitions:
    found = pack_definitions([object_info() | more])
    assert found is not None
    return found


def a_class(name: str) -> dict[str, Any]:
    return {name: {"input": {"required": {}}, "output": []}}


async def report(worker: HttpWorker, found: Definitions) -> None:
    assert await worker.say("definitions", digest=found.digest) == {"wanted": True}
    sent = base64.b64encode(found.packed).decode()
    assert await worker.say("definitions", digest=found.digest, gzip=sent) == {"wanted": False}


async def known(yard: Yard) -> list[tuple[str, str]]:
    async with yard.house.control_tx(read_only=True) as tx:
        return [(each.worker_id, each.digest) for each in await fleet.list_definitions(tx)]


async def test_a_body_is_asked_for_once_for_all_workers_that_are_alike(yard: Yard) -> None:
    first, second = await yard.register("i-1"), await yard.register("i-2")
    found = definitions()
    await report(first, found)
    assert await second.say("definitions", digest=found.digest) == {"wanted": False}
    assert await known(yard) == [("i-1", found.digest)]


async def test_a_worker_can_put_nothing_under_a_digest_that_is_not_of_it(yard: Yard) -> None:
    worker, other, found = await yard.register("i-1"), await yard.register("i-2"), definitions()
    forged = definitions(**a_class("Forged"))
    sent = base64.b64encode(forged.packed).decode()
    refused = await other.say("definitions", 422, digest=found.digest, gzip=sent)
    assert "digest" in refused["message"]
    await other.say("definitions", 422, digest="short")
    await HttpWorker(yard.client, "nobody").say("definitions", 401, digest=found.digest)
    assert await known(yard) == []
    await report(worker, found)
    # Now that it is there, what somebody else sends for it changes nothing.
    assert await other.say("definitions", digest=found.digest, gzip=sent) == {"wanted": False}
    kept = await yard.house.store.read(ObjectKey(fleet.definitions_path(found.digest)), bytes_max=2**24)
    assert kept == found.packed


async def test_a_worker_has_a_place_for_a_few_and_pushes_out_only_its_own(yard: Yard) -> None:
    other, worker = await yard.register("i-1"), await yard.register("i-2")
    await report(other, definitions())
    mine = [definitions(**a_class(f"Mine{number}")) for number in range(PER_WORKER_MAX + 1)]
    for each in mine[:4]:
        await report(worker, each)
    await report(worker, mine[4])
    left = await known(yard)
    assert ("i-1", definitions().digest) in left
    assert sorted(digest for name, digest in left if name == "i-2") == sorted(each.digest for each in mine[1:])
    with pytest.raises(NotFound):
        await yard.house.store.read(ObjectKey(fleet.definitions_path(mine[0].digest)), bytes_max=2**24)


async def admin(yard: Yard, path: str, status: int, **body: Any) -> Any:
    answer = await yard.client.post(f"/api/admin{path}", json=body, headers=await an_operator_key(yard.house))
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_graph_of_the_editor_is_converted_with_what_a_worker_has_reported(yard: Yard) -> None:
    drawn = default_workflow().workflow()
    refused = await admin(yard, "/workflows/propose", 422, graph=drawn)
    assert "no worker has reported any yet" in refused["error"]["message"]
    worker = await yard.register("i-1")
    await report(worker, definitions())
    proposed = await admin(yard, "/workflows/propose", 200, graph=drawn)
    assert proposed["definitions"]["worker_id"] == "i-1"
    assert proposed["converted"]["3"]["inputs"]["latent_image"] == ["5", 0]
    # Ranges, steps and choices are the server's.
    found = {each["name"]: each for each in proposed["properties"]}
    assert (found["steps"]["minimum"], found["steps"]["maximum"], found["steps"]["default"]) == (1, 10_000, 20)
    assert "euler" in found["sampler_name"]["choices"]
    made = await admin(yard, "/workflows", 201, slug="drawn", graph=drawn, properties=proposed["properties"][:1])
    assert made["slug"] == "drawn"
    drawn["nodes"][0]["type"] = "FaceSwap"
    refused = await admin(yard, "/workflows/propose", 422, graph=drawn)
    assert "missing: FaceSwap (node 7)" in refused["error"]["message"]


async def test_a_graph_in_api_format_has_its_ranges_from_the_workers_too(yard: Yard) -> None:
    graph = {"3": {"class_type": "EmptyLatentImage", "inputs": {"width": 512, "height": 512, "batch_size": 1}}}
    before = await admin(yard, "/workflows/propose", 200, graph=graph)
    assert before["definitions"] is None
    assert before["properties"][0]["maximum"] is None
    await report(await yard.register("i-1"), definitions())
    after = await admin(yard, "/workflows/propose", 200, graph=graph)
    width = next(each for each in after["properties"] if each["name"] == "width")
    assert (width["minimum"], width["maximum"], width["step"]) == (16, 16384, 8)
    assert after["converted"] is None


async def test_definitions_whose_object_is_gone_are_asked_for_again(yard: Yard) -> None:
    gone = f"Gone{new_id().hex}"  # definitions of another test stay in this process's memory, by their digest
    worker, found = await yard.register("i-1"), definitions(**a_class(gone))
    await report(worker, found)
    await yard.house.store.delete(ObjectKey(fleet.definitions_path(found.digest)))
    graph = {"3": {"class_type": gone, "inputs": {}}}
    assert (await admin(yard, "/workflows/propose", 200, graph=graph))["definitions"] is None
    await report(worker, found)
    assert (await admin(yard, "/workflows/propose", 200, graph=graph))["definitions"]["digest"] == found.digest


LOADER = {"Surprise": {"input": {"required": {"source": ["STRING", {"image_upload": True}], "n": ["INT", {}]}}}}
NAMES_A_FILE = {"1": {"class_type": "Surprise", "inputs": {"source": "a", "n": 1}}}
SOURCE = {"name": "source", "type": "text", "node": "1", "input_name": "source"}


async def test_a_text_cannot_be_bound_to_what_a_worker_calls_a_file(yard: Yard) -> None:
    """Its name says nothing; the definition does, also when the rest of the graph is unknown."""
    graph = {**NAMES_A_FILE, "2": {"class_type": "NobodyHasIt", "inputs": {"image": ["1", 0]}}}
    body = {"slug": "sly", "graph": graph, "properties": [SOURCE]}
    await report(await yard.register("i-1"), definitions(**LOADER))
    await report(await yard.register("i-2"), definitions(**a_class("Surprise")))
    refused = await admin(yard, "/workflows", 422, **body)
    assert "a text must not name a file: it goes to 'source' of node '1'" in refused["error"]["message"]
    proposed = await admin(yard, "/workflows/propose", 200, graph=graph)
    assert "source" not in [each["name"] for each in proposed["properties"]]
    await admin(yard, "/workflows", 201, **{**body, "properties": []})
    refused = await admin(yard, "/workflows/sly/versions", 422, graph=graph, properties=[SOURCE])
    assert "'source' of node '1'" in refused["error"]["message"]
