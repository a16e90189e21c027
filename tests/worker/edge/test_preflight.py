"""What a worker says it can do: from a real engine, and from what servers say."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from comfyfleet.comfy import SelfHosted, ServerFacts
from comfyfleet.comfy.graph import Definitions, pack_definitions
from comfyfleet.comfy.model import Device
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlClient, ControlUnreachable, Session
from comfyfleet.worker.definitions import DefinitionsReport
from comfyfleet.worker.preflight import LISTS_BYTES_MAX, Preflight, describe, read_look
from tests.engines import EngineProcess

OBJECT_INFO: dict[str, Any] = {
    "CheckpointLoaderSimple": {"input": {"required": {"ckpt_name": [["a.safetensors", "sub/b.ckpt"]]}}},
    "UpscaleModelLoader": {"input": {"required": {"model_name": ["COMBO", {"options": ["4x.pth", "not a model"]}]}}},
    "LoadImage": {"input": {"required": {"image": [["x.png"]]}}},
    "AnyLora": {"input": {"required": {"lora_name": ["STRING", {}]}}},
    "Broken": "nonsense",
}


def facts(*gb: float) -> ServerFacts:
    return ServerFacts("0.33.0", tuple(Device(f"card {size}", "cuda", int(size * 1000**3), 0) for size in gb))


def test_weights_are_what_its_own_lists_of_choices_name() -> None:
    look = read_look("a:8188", facts(24.1), OBJECT_INFO)
    assert look.weights == {"a.safetensors", "sub/b.ckpt", "4x.pth"}
    assert look.node_classes == set(OBJECT_INFO)
    assert look.unlisted_loaders == {"AnyLora"}


def test_several_servers_promise_only_what_they_have_in_common() -> None:
    other = {**OBJECT_INFO, "CheckpointLoaderSimple": {"input": {"required": {"ckpt_name": [["a.safetensors"]]}}}}
    del other["LoadImage"]
    said = describe([read_look("a", facts(48.0), OBJECT_INFO), read_look("b", facts(24.0, 80.0), other)])
    assert said["weights"] == ["4x.pth", "a.safetensors"]
    assert "LoadImage" not in said["node_classes"]
    assert said["vram_gb"] == 24.0, "where prompts run is the first card"
    assert [each["name"] for each in said["servers"]] == ["a", "b"]
    assert "vram_gb" not in describe([read_look("a", facts(), OBJECT_INFO)])
    assert describe([]) == {"servers": []}


def test_lists_that_are_too_long_to_send_are_left_out_the_longest_first() -> None:
    many = [f"lora-{number:08}.safetensors" for number in range(LISTS_BYTES_MAX // 20)]
    said = describe([read_look("a", facts(24.0), {"L": {"input": {"required": {"lora_name": [many]}}}})])
    assert "weights" not in said
    assert said["node_classes"] == ["L"]


async def test_a_server_that_is_away_is_looked_at_when_it_comes_and_keeps_what_it_had(
    engine_process: EngineProcess,
) -> None:
    nobody, engine = SelfHosted("127.0.0.1:1"), SelfHosted(engine_process.url)
    try:
        preflight = Preflight([nobody])
        await preflight.look()
        assert preflight.capabilities() == {"servers": []}
        preflight = Preflight([nobody, engine])
        watching = asyncio.create_task(preflight.run())
        async with asyncio.timeout(60):
            while "node_classes" not in preflight.capabilities():  # noqa: ASYNC110 it signals nobody
                await asyncio.sleep(0.02)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        said = preflight.capabilities()
        assert "SaveImage" in said["node_classes"]
        assert said["servers"][0]["comfyui"]
    finally:
        await nobody.close()
        await engine.close()


class Listener:
    """The control plane's side of one address: remembers what was said, answers as told."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.session = Session("http://127.0.0.1:1", "i-1")
        self.answers = list(answers)
        self.said: list[bool] = []  # with a body?
        self.heard = asyncio.Event()

    async def definitions(self, said: wire.Definitions) -> wire.DefinitionsReply:
        self.said.append(said.gzip is not None)
        answer = self.answers.pop(0) if self.answers else False
        if not self.answers:
            self.heard.set()
        if isinstance(answer, Exception):
            raise answer
        return wire.DefinitionsReply(wanted=answer)


async def reported(listener: Listener, definitions: Callable[[], Definitions | None]) -> None:
    report = DefinitionsReport(cast("ControlClient", listener), definitions, look_s=0.001)
    running = asyncio.create_task(report.run())
    async with asyncio.timeout(10):
        await listener.heard.wait()
        await asyncio.sleep(0.02)  # it looks twenty times more
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_definitions_are_sent_once_and_again_when_they_change() -> None:
    listener, changing = Listener(True, False, True, False), iter([None, *[{}] * 30])
    other = {**OBJECT_INFO, "Newer": {"input": {}}}

    def now() -> Definitions | None:
        seen = next(changing, other)
        return None if seen is None else pack_definitions([seen or OBJECT_INFO])

    await reported(listener, now)
    assert listener.said == [False, True, False, True]


async def test_a_control_plane_from_before_is_left_in_peace_and_one_that_is_away_ends_no_worker() -> None:
    found = pack_definitions([OBJECT_INFO])
    old = Listener(CallRefused("definitions", status=404, refusal="not_found", problem="no such address"))
    await reported(old, lambda: found)
    assert old.said == [False]
    away = Listener(ControlUnreachable("http://127.0.0.1:1", problem="refused"))
    await reported(away, lambda: found)
    assert away.said == [False], "a minute is waited before the next"


def test_the_memory_of_a_machine_without_a_card_is_no_gpu_memory() -> None:
    said = describe([read_look("a", ServerFacts("0.33.0", (Device("cpu", "cpu", 64_000_000_000, 0),)), OBJECT_INFO)])
    assert said["vram_gb"] == 0.0
    assert said["servers"][0]["devices"] == [{"name": "cpu", "type": "cpu", "vram_gb": 0.0}]
