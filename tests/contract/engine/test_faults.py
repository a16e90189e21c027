"""Every fault does what it says, and nothing else."""

import asyncio
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from tests.contract.engine.conversation import WITHIN_S, Conversation, talk_to
from tests.engines import RunningEngine, a_picture_graph, a_sleep_graph, an_engine


@pytest_asyncio.fixture
async def engine(tmp_path: Path):
    async with an_engine(tmp_path) as running:
        yield running


@pytest_asyncio.fixture
async def talk(engine: RunningEngine):
    async with talk_to(engine) as conversation:
        yield conversation


PLAIN = ["execution_start", "execution_cached", *["progress_state", "executing", "progress_state"], "progress_state"]


async def test_without_faults_a_prompt_runs(talk: Conversation):
    entry = await talk.run(a_picture_graph())

    assert entry["status"]["completed"]
    assert talk.kinds()[:6] == PLAIN


async def test_the_socket_is_cut_at_a_message(talk: Conversation):
    await talk.submit(a_picture_graph(), drop_socket_at=3)

    async with asyncio.timeout(WITHIN_S):
        await talk.closed.wait()
    assert talk.kinds() == ["execution_start", "execution_cached"]


async def test_the_socket_falls_silent_at_a_message_and_stays_open(talk: Conversation):
    prompt_id = await talk.submit(a_picture_graph(), silence_socket_at=3)
    second = await talk.run(a_picture_graph(color=1))

    assert second["status"]["completed"]
    told = [each["type"] for each in talk.texts() if each["data"].get("prompt_id") == prompt_id]
    assert told == ["execution_start", "execution_cached"]
    assert (await talk.entry(prompt_id))["status"]["completed"]


async def test_a_message_comes_after_the_next(talk: Conversation):
    await talk.run(a_picture_graph(), reorder_at=1)

    assert talk.kinds()[:3] == ["execution_cached", "execution_start", "progress_state"]


async def test_history_comes_late(talk: Conversation):
    prompt_id = await talk.submit(a_picture_graph(), delay_history_s=0.3)
    await talk.until("execution_success", prompt_id=prompt_id)
    early = await talk.entry(prompt_id)
    await talk.until("executing", node=None, prompt_id=prompt_id)

    assert early == {}
    assert (await talk.entry(prompt_id))["status"]["completed"]


async def test_an_instant_answer_is_over_before_the_reply_and_looks_cached(talk: Conversation):
    prompt_id = await talk.submit(a_picture_graph(), instant_cached=True)
    entry = await talk.entry(prompt_id)

    assert entry["outputs"]["2"]["images"][0]["filename"] == "picture_00001_.png"
    await talk.until("executing", node=None, prompt_id=prompt_id)
    cached = await talk.until("execution_cached", prompt_id=prompt_id)
    assert cached["data"]["nodes"] == ["1", "2"]
    assert "executing" not in talk.kinds()[:-1]


async def test_success_names_no_output(talk: Conversation):
    entry = await talk.run(a_picture_graph(), empty_outputs=True)

    assert entry["status"]["status_str"] == "success"
    assert entry["outputs"] == {}
    assert "executed" not in talk.kinds()


async def test_history_forgets(talk: Conversation):
    assert await talk.run(a_picture_graph(), forget_history=True) == {}
    assert talk.kinds()[-2:] == ["execution_success", "executing"]


async def test_a_prompt_hangs_through_an_interrupt_until_the_faults_are_cleared(talk: Conversation):
    prompt_id = await talk.submit(a_picture_graph(), hang_at_node="1")
    await talk.until("executing", node="1")
    await talk.http.post("/interrupt", json={"prompt_id": prompt_id})
    running = (await talk.http.get("/queue")).json()["queue_running"]
    await talk.http.delete("/comfyfleet/faults")

    assert [each[1] for each in running] == [prompt_id]
    await talk.until("executing", node=None, prompt_id=prompt_id)


@pytest.mark.parametrize(
    ("fault", "exception_type", "words"),
    [
        ("out_of_memory_at_node", "torch.OutOfMemoryError", "TIPS: "),
        ("cuda_error_at_node", "torch.AcceleratorError", "CUDA error"),
        ("disk_full_at_node", "OSError", "No space left on device"),
        ("error_at_node", "RuntimeError", "must match the size"),
    ],
)
async def test_a_node_fails_as_torch_would(talk: Conversation, fault: str, exception_type: str, words: str):
    entry = await talk.run(a_picture_graph(), **{fault: "2"})

    kind, error = entry["status"]["messages"][-1]
    assert kind == "execution_error"
    assert error["exception_type"] == exception_type
    assert words in error["exception_message"]
    assert (error["node_id"], error["node_type"], error["executed"]) == ("2", "SaveImage", ["1"])


async def test_an_in_process_engine_does_not_obey_an_order_to_die(talk: Conversation):
    assert (await talk.run(a_picture_graph(), die_at_node="*"))["status"]["completed"]


async def test_an_output_is_huge(talk: Conversation):
    await talk.run(a_picture_graph(), huge_output_bytes=3_000_000_000)

    answer = await talk.http.head("/view?filename=picture_00001_.png")
    assert answer.headers["content-length"] == "3000000000"


async def test_an_output_is_missing(talk: Conversation):
    entry = await talk.run(a_picture_graph(), missing_output=True)

    assert entry["outputs"]["2"]["images"]
    assert (await talk.http.get("/view?filename=picture_00001_.png")).status_code == 404


async def test_steps_are_slow_and_can_be_interrupted(talk: Conversation):
    prompt_id = await talk.submit(a_sleep_graph(seconds=0, steps=1000), slow_step_s=0.05)
    await talk.until("progress", value=1)
    await talk.http.post("/interrupt", json={"prompt_id": prompt_id})

    told = await talk.until("execution_interrupted", prompt_id=prompt_id)
    assert told["data"]["node_type"] == "FleetSleep"


async def test_post_prompt_queues_and_never_answers(talk: Conversation, engine: RunningEngine):
    with pytest.raises(httpx2.RemoteProtocolError):
        await talk.submit(a_picture_graph(), drop_post=True)

    await talk.until("execution_success")


async def test_an_unknown_fault_is_refused(talk: Conversation):
    with pytest.raises(httpx2.HTTPStatusError) as caught:
        await talk.submit(a_picture_graph(), drop_sockets_at=3)

    assert caught.value.response.json()["error"]["type"] == "bad_faults"


async def test_faults_are_ordered_for_the_prompts_to_come(talk: Conversation, engine: RunningEngine):
    await engine.order_faults(prompts={"error_at_node": "*"}, prompts_times=1)
    first, second = [
        await talk.http.post("/prompt", json={"prompt": a_picture_graph(color=color), "client_id": talk.client_id})
        for color in (1, 2)
    ]
    await talk.until("executing", node=None, prompt_id=second.json()["prompt_id"])

    assert not (await talk.entry(first.json()["prompt_id"]))["status"]["completed"]
    assert (await talk.entry(second.json()["prompt_id"]))["status"]["completed"]


@pytest.mark.parametrize(
    ("kind", "content_type"), [("garbage", "application/json; charset=utf-8"), ("html", "text/html")]
)
async def test_a_route_answers_nonsense_as_often_as_ordered(
    talk: Conversation, engine: RunningEngine, kind: str, content_type: str
):
    await engine.order_faults(routes=[{"path": "/history", "kind": kind, "times": 1}])
    bad, good = await talk.http.get("/api/history/x"), await talk.http.get("/history/x")

    assert (bad.status_code, bad.headers["content-type"]) == (200, content_type)
    with pytest.raises(ValueError):
        bad.json()
    assert good.json() == {}


async def test_a_route_never_ends_never_answers_breaks_off_or_fails(talk: Conversation, engine: RunningEngine):
    await engine.order_faults(
        routes=[
            {"path": "/queue", "kind": "endless"},
            {"path": "/history", "kind": "hang"},
            {"path": "/features", "kind": "drop"},
            {"path": "/object_info", "kind": "status", "status": 503},
        ]
    )
    async with talk.http.stream("GET", "/queue") as endless:
        read_bytes = 0
        async for piece in endless.aiter_bytes():
            read_bytes += len(piece)
            if read_bytes > 1_000_000:
                break
    with pytest.raises(httpx2.ReadTimeout):
        await talk.http.get("/history/x", timeout=0.1)
    with pytest.raises(httpx2.RemoteProtocolError):
        await talk.http.get("/features")
    assert (await talk.http.get("/object_info")).status_code == 503
