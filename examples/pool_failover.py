"""Three engines, one of which fails one workflow only. Run it: python examples/pool_failover.py

Watch the pair (server, workflow) being put aside, the server going on with other workflows, and the pair coming back
after the cooldown. It needs nothing but `pip install 'comfyfleet[engine]'`: the three engines run in this process.
"""

import asyncio
import logging
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import structlog

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.faults import FaultOrder, PromptFaults
from comfyfleet.engine.server import serve_here
from comfyfleet.pool import ClientBlockedWorkflow, ClientUnblockedWorkflow, JobRetrying, Pool, Server, SmartFailover

COOLDOWN_S = 3.0
BEGAN = time.monotonic()


def graph(paints_with: str, color: int) -> dict[str, Any]:
    """Two workflows that differ in the name of one node: `draw` and `paint`."""
    return {
        paints_with: {
            "class_type": "EmptyImage",
            "inputs": {"width": 64, "height": 64, "batch_size": 1, "color": color},
        },
        "save": {"class_type": "SaveImage", "inputs": {"images": [paints_with, 0], "filename_prefix": paints_with}},
    }


def say(*words: object) -> None:
    print(f"{time.monotonic() - BEGAN:5.1f} s ", *words)  # noqa: T201  it is what an example does


async def use_the_pool(servers: list[Server], out: Path) -> None:
    """The ten lines that matter."""
    async with Pool(servers, strategy=SmartFailover(cooldown_s=COOLDOWN_S), outputs=out) as pool:
        pool.on("job:retrying", tell)
        pool.on("client:blocked_workflow", tell)
        lifted = pool.events("client:unblocked_workflow")
        pictures = await asyncio.gather(*(pool.run(graph("draw", 40 * number)) for number in range(6)))
        say("six drawings, made by", sorted(picture.server for picture in pictures))
        painting = await pool.run(graph("paint", 7), servers={"broken"})
        say("a painting, made by", painting.server, "→", painting.files[0].path.name)
        tell(await anext(lifted))
        say("a drawing, made by", (await pool.run(graph("draw", 1), servers={"broken"})).server)


def tell(event: object) -> None:
    match event:
        case ClientBlockedWorkflow():
            say(f"{event.server} is kept from workflow {event.structure_hash[:8]} ({event.failure})")
        case ClientUnblockedWorkflow():
            say(f"{event.server} may run workflow {event.structure_hash[:8]} again ({event.reason})")
        case JobRetrying():
            say(f"a job failed on {event.server} and goes elsewhere")


async def main() -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = []
        for name in ("broken", "well", "fine"):
            engine = Engine(folder / name)
            if name == "broken":  # its first two drawings end in an error; after that it has been mended
                engine.board.set(FaultOrder(prompts=PromptFaults(error_at_node="draw"), prompts_times=2))
            servers.append(Server(await stack.enter_async_context(serve_here(engine)), name=name))
        await use_the_pool(servers, folder / "out")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    asyncio.run(main())
