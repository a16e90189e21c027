"""The client's requests and what it makes of the answers, against an application in the same process."""

import hashlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from comfyfleet.comfy.client import ComfyClient
from comfyfleet.comfy.errors import (
    AccessRefused,
    AnswerTooLarge,
    InvalidGraph,
    OutputGone,
    PromptRefused,
    UnexpectedAnswer,
    UploadRefused,
)
from comfyfleet.comfy.limits import Limits
from comfyfleet.comfy.model import OutputFile, Prompt, QueueState, UploadedFile, new_prompt

Respond = Callable[[Request], Awaitable[Response]]
GRAPH = {"1": {"class_type": "EmptyImage", "inputs": {"width": 8}}}


@dataclass
class Far:
    """The far end: answers by (method, path), and what it was asked."""

    answers: dict[tuple[str, str], Response | Respond] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    chunks_bytes: list[int] = field(default_factory=list)
    raw_paths: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        self.raw_paths.append(scope["raw_path"])
        body = b""
        async for chunk in request.stream():
            self.chunks_bytes.append(len(chunk))
            body += chunk
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.asked.append((request.method, path, dict(request.headers), body))
        answer = self.answers.get((request.method, request.url.path), Response(status_code=404))
        response = answer if isinstance(answer, Response) else await answer(request)
        await response(scope, receive, send)

    def answer(self, method: str, path: str, body: Any, *, status: int = 200) -> None:
        self.answers[(method, path)] = (
            body if isinstance(body, Response) or callable(body) else JSONResponse(body, status_code=status)
        )

    def last_json(self) -> Any:
        return json.loads(self.asked[-1][3])


def left_in(folder: Path) -> list[str]:
    return os.listdir(folder)


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
async def client(far: Far) -> AsyncIterator[ComfyClient]:
    limits = Limits(view_bytes=1000)
    transport = httpx2.ASGITransport(far)
    async with ComfyClient("http://ada:hush@comfy", limits=limits, transport=transport) as made:
        yield made


def accept(far: Far, **more: Any) -> None:
    async def respond(request: Request) -> Response:
        asked = json.loads(far.asked[-1][3])
        return JSONResponse({"prompt_id": asked["prompt_id"], "number": 3, "node_errors": {}, **more})

    far.answer("POST", "/prompt", respond)


async def test_a_prompt_is_submitted_under_our_ids(far: Far, client: ComfyClient) -> None:
    accept(far)
    prompt = Prompt(GRAPH, "11111111-1111-4111-8111-111111111111", client_id="me", extra_data={"k": 1}, front=True)
    submitted = await client.submit(prompt, targets=["9"])
    assert (submitted.prompt_id, submitted.number, submitted.partial) == (prompt.prompt_id, 3, False)
    assert far.last_json() == {
        "prompt": GRAPH,
        "prompt_id": prompt.prompt_id,
        "client_id": "me",
        "extra_data": {"k": 1},
        "front": True,
        "partial_execution_targets": ["9"],
    }


async def test_a_client_id_is_always_sent(far: Far, client: ComfyClient) -> None:
    accept(far)
    await client.submit(new_prompt(GRAPH))
    assert far.last_json()["client_id"] == client.client_id


async def test_outputs_that_validation_dropped_are_visible(far: Far, client: ComfyClient) -> None:
    fault = {
        "type": "value_not_in_list",
        "message": "Value not in list",
        "details": "x",
        "extra_info": {"input_name": "i"},
    }
    accept(far, node_errors={"4": {"errors": [fault], "class_type": "LoadImage", "dependent_outputs": ["9"]}})
    submitted = await client.submit(new_prompt(GRAPH))
    assert submitted.partial
    assert (submitted.node_errors[0].node, submitted.node_errors[0].input_name) == ("4", "i")


async def test_a_refusal_names_node_and_input(far: Far, client: ComfyClient) -> None:
    fault = {"type": "required_input_missing", "message": "Required input is missing", "details": "images"}
    body = {
        "error": {
            "type": "prompt_outputs_failed_validation",
            "message": "Prompt outputs failed validation",
            "details": "",
        },
        "node_errors": {
            "9": {"errors": [{**fault, "extra_info": {"input_name": "images"}}], "class_type": "SaveImage"}
        },
    }
    far.answer("POST", "/prompt", body, status=400)
    with pytest.raises(
        PromptRefused, match=r"node 9 \(SaveImage\), input 'images': Required input is missing"
    ) as refused:
        await client.submit(new_prompt(GRAPH))
    assert refused.value.type == "prompt_outputs_failed_validation"


async def test_a_server_that_chooses_its_own_ids_is_refused_and_rid_of_the_prompt(
    far: Far, client: ComfyClient
) -> None:
    accept(far, prompt_id="theirs")
    far.answer("POST", "/queue", PlainTextResponse(""))
    far.answer("POST", "/interrupt", PlainTextResponse(""))
    with pytest.raises(UnexpectedAnswer, match=r"0\.3\.45"):
        await client.submit(new_prompt(GRAPH))
    assert [json.loads(body) for _, _, _, body in far.asked[1:]] == [{"delete": ["theirs"]}, {"prompt_id": "theirs"}]


async def test_a_graph_that_is_no_json_never_leaves(far: Far, client: ComfyClient) -> None:
    with pytest.raises(InvalidGraph):
        await client.submit(new_prompt({"1": object()}))
    assert far.asked == []


async def test_numbers_beyond_64_bits_are_sent_as_they_are(far: Far, client: ComfyClient) -> None:
    accept(far)
    await client.submit(new_prompt({"1": {"class_type": "X", "inputs": {"seed": 2**70}}}))
    assert far.last_json()["prompt"]["1"]["inputs"]["seed"] == 2**70


async def test_the_queue_is_told_in_the_order_of_running(far: Far, client: ComfyClient) -> None:
    entry = [{"1": {}}, {}, ["9"]]
    far.answer(
        "GET",
        "/queue",
        {
            "queue_running": [[1, "a", *entry]],
            "queue_pending": [[9, "d", *entry], [2.0, "c", *entry], [2, "b", *entry]],
        },
    )
    assert await client.queue() == QueueState(("a",), ("b", "c", "d"))


async def test_a_history_that_is_not_there_is_none(far: Far, client: ComfyClient) -> None:
    far.answer("GET", "/history/p", {})
    assert await client.history("p") is None


async def test_an_id_cannot_become_another_path(far: Far, client: ComfyClient) -> None:
    with pytest.raises(UnexpectedAnswer):
        await client.history("../queue?x=1")
    assert far.raw_paths == [b"/history/..%2Fqueue%3Fx%3D1"]


async def test_an_unknown_job_and_a_missing_route_are_told_apart(far: Far, client: ComfyClient) -> None:
    assert await client.job("p") is None
    assert client.has_jobs is False
    far.answer("GET", "/api/jobs/p", {"error": "Job not found"}, status=404)
    assert await client.job("p") is None
    assert client.has_jobs is True


async def test_cancelling_by_job_is_none_where_the_route_is_missing_and_not_asked_again(
    far: Far, client: ComfyClient
) -> None:
    far.answer("POST", "/api/jobs/p/cancel", PlainTextResponse("405: Method Not Allowed", status_code=405))
    assert await client.cancel_job("p") is None
    assert await client.cancel_job("p") is None
    assert len(far.asked) == 1


async def test_cancelling_by_job(far: Far, client: ComfyClient) -> None:
    far.answer("POST", "/api/jobs/p/cancel", {"cancelled": True})
    assert await client.cancel_job("p") is True


async def test_orders_are_sent_as_comfyui_wants_them(far: Far, client: ComfyClient) -> None:
    for path in ("/interrupt", "/queue", "/history", "/free"):
        far.answer("POST", path, PlainTextResponse(""))
    await client.interrupt("p")
    await client.delete_pending(["p"])
    await client.delete_history(["p"])
    await client.free()
    assert [(path, json.loads(body)) for _, path, _, body in far.asked] == [
        ("/interrupt", {"prompt_id": "p"}),
        ("/queue", {"delete": ["p"]}),
        ("/history", {"delete": ["p"]}),
        ("/free", {"unload_models": True, "free_memory": True}),
    ]


async def test_an_upload_is_streamed_and_the_servers_name_is_used(
    far: Far, client: ComfyClient, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 4096
    (tmp_path / "cat.png").write_bytes(content)
    far.answer("POST", "/upload/image", {"name": "cat (1).png", "subfolder": "in", "type": "input"})
    uploaded = await client.upload(tmp_path / "cat.png", name="cat.png", subfolder="in")
    assert uploaded == UploadedFile("cat (1).png", "in", "input")
    assert uploaded.as_input() == "in/cat (1).png"
    assert max(far.chunks_bytes) <= 64 * 1024
    form = parse_form(far)
    assert form["subfolder"] == "in"
    assert form["overwrite"] == "false"
    assert form["image"] == ("cat.png", "image/png", content)


def parse_form(far: Far) -> dict[str, Any]:
    _, _, headers, body = far.asked[-1]
    head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    form: dict[str, Any] = {}
    for part in message.iter_parts():
        name = part["Content-Disposition"].params["name"]
        content = part.get_payload(decode=True)
        filename = part.get_filename()
        form[name] = content.decode() if filename is None else (filename, part.get_content_type(), content)
    return form


async def test_bytes_are_uploaded_like_files(far: Far, client: ComfyClient) -> None:
    far.answer("POST", "/upload/image", {"name": "a b.bin", "subfolder": "", "type": "temp"})
    uploaded = await client.upload(b"xyz", name="a b.bin", folder="temp", overwrite=True)
    assert uploaded.as_input() == "a b.bin [temp]"
    form = parse_form(far)
    assert (form["type"], form["overwrite"]) == ("temp", "true")
    assert form["image"] == ("a b.bin", "application/octet-stream", b"xyz")


@pytest.mark.parametrize("status", [400, 413])
async def test_a_refused_upload_is_typed(far: Far, client: ComfyClient, status: int) -> None:
    far.answer("POST", "/upload/image", PlainTextResponse("", status_code=status))
    with pytest.raises(UploadRefused) as refused:
        await client.upload(b"x", name="../x.png")
    assert refused.value.status == status


async def test_a_mask_names_its_original(far: Far, client: ComfyClient) -> None:
    far.answer("POST", "/upload/mask", {"name": "m.png", "subfolder": "", "type": "input"})
    far.answer("HEAD", "/view", PlainTextResponse(""))
    await client.upload_mask(b"x", name="m.png", original=UploadedFile("cat.png", "in"))
    far.asked.pop()
    form = parse_form(far)
    assert json.loads(form["original_ref"]) == {"filename": "cat.png", "subfolder": "in", "type": "input"}


async def test_a_mask_that_the_server_threw_away_is_an_error(far: Far, client: ComfyClient) -> None:
    far.answer("POST", "/upload/mask", {"name": "m.png", "subfolder": "", "type": "input"})
    with pytest.raises(UploadRefused, match=r"cat\.png"):
        await client.upload_mask(b"x", name="m.png", original=UploadedFile("cat.png"))


async def test_an_output_is_fetched_whole_and_hashed(far: Far, client: ComfyClient, tmp_path: Path) -> None:
    far.answer("GET", "/view", Response(b"picture"))
    output = OutputFile("9", "images", "a b.png", "sub/dir", "temp", "image/png")
    fetched = await client.fetch(output, tmp_path / "out" / "mine.png")
    assert fetched.path.read_bytes() == b"picture"
    assert (fetched.bytes, fetched.sha256) == (7, hashlib.sha256(b"picture").hexdigest())
    assert far.asked[0][1] == "/view?filename=a+b.png&subfolder=sub%2Fdir&type=temp"
    assert left_in(tmp_path / "out") == ["mine.png"]


async def test_words_are_fetched_without_asking(far: Far, client: ComfyClient, tmp_path: Path) -> None:
    fetched = await client.fetch(OutputFile("5", "text", "5-text-0.txt", text="grüße"), tmp_path / "t.txt")
    assert fetched.path.read_text() == "grüße"
    assert fetched.bytes == 7
    assert far.asked == []


async def test_a_deleted_output_is_gone_and_leaves_nothing(far: Far, client: ComfyClient, tmp_path: Path) -> None:
    with pytest.raises(OutputGone, match=r"sub/a\.png"):
        await client.fetch(OutputFile("9", "images", "a.png", "sub"), tmp_path / "a.png")
    assert left_in(tmp_path) == []


async def test_an_output_beyond_the_limit_leaves_nothing(far: Far, client: ComfyClient, tmp_path: Path) -> None:
    far.answer("GET", "/view", Response(b"x" * 1001))
    with pytest.raises(AnswerTooLarge):
        await client.fetch(OutputFile("9", "images", "a.png"), tmp_path / "a.png")
    assert left_in(tmp_path) == []


async def test_credentials_are_sent_and_never_told(far: Far, client: ComfyClient) -> None:
    far.answer("GET", "/queue", Response(status_code=401))
    with pytest.raises(AccessRefused) as refused:
        await client.queue()
    assert far.asked[0][2]["authorization"] == "Basic YWRhOmh1c2g="
    for text in (str(refused.value), repr(refused.value), repr(refused.value.facts), repr(client)):
        assert "hush" not in text
        assert "YWRh" not in text


async def test_a_redirect_is_not_followed(far: Far, client: ComfyClient) -> None:
    far.answer("GET", "/queue", RedirectResponse("http://elsewhere/login"))
    with pytest.raises(UnexpectedAnswer) as unexpected:
        await client.queue()
    assert unexpected.value.status == 307
    assert len(far.asked) == 1


async def test_a_web_page_with_status_200_is_no_answer(far: Far, client: ComfyClient) -> None:
    for path in ("/queue", "/history/p", "/system_stats", "/object_info", "/api/jobs/p"):
        far.answer("GET", path, Response("<!doctype html><title>Sign in</title>", media_type="text/html"))
    for ask in (client.queue, client.system_stats, client.object_info):
        with pytest.raises(UnexpectedAnswer, match="a web page instead of JSON"):
            await ask()
    with pytest.raises(UnexpectedAnswer):
        await client.history("p")
    with pytest.raises(UnexpectedAnswer):
        await client.job("p")


async def test_node_classes_one_or_all(far: Far, client: ComfyClient) -> None:
    far.answer("GET", "/object_info", {"A": {}, "B": {}})
    far.answer("GET", "/object_info/A", {"A": {}})
    assert set(await client.object_info()) == {"A", "B"}
    assert set(await client.object_info("A")) == {"A"}


async def test_features_of_an_old_server_are_none(far: Far, client: ComfyClient) -> None:
    assert await client.features() == {}
    far.answer("GET", "/features", {"supports_preview_metadata": True})
    assert await client.features() == {"supports_preview_metadata": True}
