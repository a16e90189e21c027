"""`progress_state` of a 300-node graph, as a real server sends it: from another process over a real socket, through
our socket, parser and feed, to the progress a watcher yields. 18 MB a prompt."""

import asyncio
import json
import sys
from statistics import median
from time import perf_counter, process_time
from typing import Any, cast

from websockets.asyncio.server import ServerConnection, serve

from comfyfleet.comfy.address import parse_address
from comfyfleet.comfy.messages import ExecutionSuccess, ProgressState
from comfyfleet.comfy.progress import Progression
from comfyfleet.comfy.socket import ComfySocket

NODES = 300
PROMPT_ID = "4d843e85-200e-4155-8e40-5ae06c1249e0"
GRAPH = {str(number): {"class_type": "ImageInvert", "inputs": {}} for number in range(NODES)}


def prompt_frames() -> list[str]:
    """Two states a node, each with all nodes so far: this is why the traffic is quadratic."""
    nodes: dict[str, dict[str, Any]] = {}
    frames = []
    for name in GRAPH:
        for state, value in (("running", 0.0), ("finished", 1.0)):
            nodes[name] = {
                "value": value,
                "max": 1.0,
                "state": state,
                "node_id": name,
                "prompt_id": PROMPT_ID,
                "display_node_id": name,
                "parent_node_id": None,
                "real_node_id": name,
            }
            frames.append(json.dumps({"type": "progress_state", "data": {"prompt_id": PROMPT_ID, "nodes": nodes}}))
    frames.append(json.dumps({"type": "execution_success", "data": {"prompt_id": PROMPT_ID, "timestamp": 0}}))
    return frames


async def figures(quick: bool) -> dict[str, float | None]:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.comfy.frames", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    port = int(await cast(asyncio.StreamReader, server.stdout).readline())
    megabytes = sum(len(frame) for frame in prompt_frames()) / 1e6
    try:
        runs = [await one_prompt(port) for _ in range(5 if quick else 20)]
    finally:
        server.terminate()
        await server.wait()
    return {
        "ws_mb_s": megabytes / median(wall_s for wall_s, _ in runs),
        "ws_mb_per_cpu_s": megabytes / median(cpu_s for _, cpu_s in runs),
        "ws_mb_a_prompt": megabytes,
    }


async def one_prompt(port: int) -> tuple[float, float]:
    """Seconds, and seconds of our CPU, from the first frame to the last."""
    socket = ComfySocket(parse_address(f"127.0.0.1:{port}"))
    try:
        feed = socket.listen(PROMPT_ID)
        await socket.open()
        progression = Progression(GRAPH)
        while not isinstance(await feed.receive(), ProgressState):
            pass
        wall_s, cpu_s = perf_counter(), process_time()
        while not isinstance(heard := await feed.receive(), ExecutionSuccess):
            progression.hear(heard, now_s=perf_counter())
        return perf_counter() - wall_s, process_time() - cpu_s
    finally:
        await socket.close()


def as_text_frame(payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes([0x81, size]) + payload
    if size < 2**16:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload


async def pump() -> None:
    """The far end: a greeting, and when our first frame has come, the whole prompt as one piece, ready to be sent.
    It must be faster than what it measures."""
    stream = b"".join(as_text_frame(frame.encode()) for frame in prompt_frames())

    async def run(socket: ServerConnection) -> None:
        await socket.send('{"type": "status", "data": {"status": {"exec_info": {"queue_remaining": 0}}}}')
        await socket.recv()
        socket.transport.write(stream)
        await socket.wait_closed()

    async with serve(run, "127.0.0.1", 0, compression=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(pump())
