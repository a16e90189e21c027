"""A clock that costs no time, a small graph, and how a prompt is walked to its end."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from comfyfleet.comfy.cloud import CloudConnector
from comfyfleet.comfy.model import Checked, Outcome, Prompt, Update

GRAPH = {
    "3": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 0}},
    "9": {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "cat"}},
}
STARTED = datetime(2026, 11, 16, 12, tzinfo=UTC)


@dataclass
class JumpingClock:
    """Who sleeps here wakes at once, later."""

    now_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now_s

    def utc(self) -> datetime:
        return STARTED + timedelta(seconds=self.now_s)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


async def run(connector: CloudConnector, prompt: Prompt, *, deadline_s: float = 3600) -> list[Update | Outcome]:
    await connector.submit(prompt)
    return await seen(connector, prompt, deadline_s=deadline_s)


async def seen(connector: CloudConnector, prompt: Prompt, *, deadline_s: float = 3600) -> list[Update | Outcome]:
    """Without the health checks, of which there are as many as the clock allows."""
    told = [update async for update in connector.watch(prompt, deadline_s=deadline_s)]
    return [update for update in told if not isinstance(update, Checked)]
