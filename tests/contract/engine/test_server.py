"""What the recordings do not show of the server: foreign pages, large bodies, one who does not read, its own words."""

import json
import socket
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.server import serve_here
from tests.contract.engine.conversation import talk_to
from tests.engines import RunningEngine, a_picture_graph, a_sleep_graph, an_engine
from tests.recordings import exchanges


@pytest_asyncio.fixture
async def engine(tmp_path: Path):
    async with an_engine(tmp_path) as running:
        yield running


@pytest_asyncio.fixture
async def http(engine: RunningEngine):
    async with httpx2.AsyncClient(base_url=engine.url, timeout=20) as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "http://127.0.0.1"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "http://[bad"}, 403),
    ],
)
async def test_a_foreign_page_gets_nothing(http: httpx2.AsyncClient, headers: dict[str, str], status: int):
    assert (await http.get("/queue", headers=headers)).status_code == status


async def test_a_foreign_page_gets_no_socket(engine: RunningEngine):
    with pytest.raises(InvalidStatus):
        await connect(f"{engine.ws_url}?clientId=x", additional_headers={"origin": "http://evil.example"})


async def test_a_body_without_a_length_is_cut_at_the_limit(http: httpx2.AsyncClient):
    async def pieces():
        for _ in range(101):
            yield b" " * 1024 * 1024

    answer = await http.post("/prompt", content=pieces())
    assert (answer.status_code, answer.text) == (413, "Maximum request body size 104857600 exceeded.")


def a_stalled_socket(engine: RunningEngine) -> socket.socket:
    """Shakes hands and never reads again; its buffer is small."""
    stalled = socket.socket()
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.connect(("127.0.0.1", int(engine.url.rsplit(":", 1)[1])))
    lines = ["GET /ws?clientId=stalled HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"]
    stalled.sendall("\r\n".join([*lines, "", ""]).encode())
    return stalled


def a_talkative_graph() -> dict[str, dict]:
    """Twelve megabytes of progress: more than the buffers of a socket hold."""
    chain = {"0": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 1}}}
    chain |= {str(n): {"class_type": "ImageInvert", "inputs": {"image": [str(n - 1), 0]}} for n in range(1, 250)}
    return chain | {"end": {"class_type": "PreviewImage", "inputs": {"images": ["249", 0]}}}


async def test_who_does_not_read_holds_up_the_others_until_it_is_dropped(tmp_path: Path):
    own = Engine(tmp_path, send_within_s=0.3)
    async with serve_here(own) as url:
        engine = RunningEngine(url, own)
        with a_stalled_socket(engine):
            async with talk_to(engine) as other:
                await other.http.post("/prompt", json={"prompt": a_talkative_graph(), "client_id": "stalled"})
                entry = await other.run(a_picture_graph())

    assert entry["status"]["completed"]


async def test_previews_carry_their_node_for_who_asks(engine: RunningEngine):
    async with talk_to(engine) as plain:
        await plain.run(a_sleep_graph(seconds=0, steps=2, previews=True))
    frames = [each for each in plain.heard if isinstance(each, bytes)]
    assert [frame[:8] for frame in frames] == [b"\0\0\0\1\0\0\0\1"] * 2

    async with connect(f"{engine.ws_url}?clientId=asks") as asking:
        await asking.recv()
        await asking.send(json.dumps({"type": "feature_flags", "data": {"supports_preview_metadata": True}}))
        assert json.loads(await asking.recv())["type"] == "feature_flags"
        async with httpx2.AsyncClient(base_url=engine.url) as http:
            graph = a_sleep_graph(seconds=0, seed=1, previews=True)
            await http.post("/prompt", json={"prompt": graph, "client_id": "asks"})
        while isinstance(frame := await asking.recv(), str):
            pass
    length = int.from_bytes(frame[4:8])
    assert frame[:4] == b"\0\0\0\4"
    assert json.loads(frame[8 : 8 + length])["node_id"] == "1"


async def test_system_stats_have_the_real_ones_keys(http: httpx2.AsyncClient):
    stats = (await http.get("/system_stats")).json()
    real = next(entry["response"]["json"] for entry in exchanges("GET", "/system_stats"))

    assert stats["system"].keys() == real["system"].keys()
    assert stats["devices"][0].keys() == real["devices"][0].keys()
    assert 0 < stats["system"]["ram_free"] <= stats["system"]["ram_total"]


async def test_an_engine_is_there_at_once_and_gone_at_once(tmp_path: Path):
    for _ in range(5):
        async with an_engine(tmp_path) as engine, httpx2.AsyncClient(base_url=engine.url) as http:
            assert (await http.get("/prompt")).json() == {"exec_info": {"queue_remaining": 0}}
