"""The seed's sequence, as a user's program would do it: upload, video, job, live progress, result. Over HTTP only."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from comfyfleet.client import AsyncClient, Event, SavedOutput
from comfyfleet.client.events import Created, StatusChanged
from comfyfleet.demo.catalogue import DemoEffect, SampleName
from comfyfleet.kernel.errors import FleetError, Unavailable

WAIT_S = 900.0
LEDGER_ROWS = 100
LEDGER_WITHIN_S = 10.0

Tell = Callable[[str, Event], None]


@dataclass
class Played:
    """What became of one effect. `error`: why there is nothing."""

    effect: str
    job_id: str | None = None
    credits_cost: int = 0
    waited_s: float = 0.0
    ran_s: float = 0.0
    saved: list[SavedOutput] = field(default_factory=list)
    error: str | None = None


@dataclass
class _Watch:
    """How long it waited, and how long it ran, by what was told."""

    ordered_at: float = 0.0
    began_at: float = 0.0

    def hear(self, event: Event, played: Played) -> None:
        match event:
            case Created(job_id=job_id, credits_cost=cost):
                played.job_id, played.credits_cost, self.ordered_at = job_id, cost, time.monotonic()
            case StatusChanged(status="processing") if not self.began_at:
                self.began_at = time.monotonic()
            case _:
                pass

    def tally(self, played: Played) -> None:
        now = time.monotonic()
        began = self.began_at or now
        played.waited_s, played.ran_s = began - (self.ordered_at or began), now - began


async def play(
    fleet: AsyncClient,
    effects: Sequence[DemoEffect],
    *,
    samples: Mapping[SampleName, Path],
    folder: Path,
    tell: Tell,
) -> list[Played]:
    """All at once: the queue puts them in their order. One that fails does not keep the others from their ends."""
    return list(await asyncio.gather(*(_play_one(fleet, each, samples, folder, tell) for each in effects)))


async def _play_one(
    fleet: AsyncClient, effect: DemoEffect, samples: Mapping[SampleName, Path], folder: Path, tell: Tell
) -> Played:
    played, watch = Played(effect.slug), _Watch()

    def hear(event: Event) -> None:
        watch.hear(event, played)
        tell(effect.slug, event)

    given = samples[effect.sample] if effect.sample is not None else None
    try:
        result = await fleet.run(effect.slug, given, on_progress=hear, wait_s=WAIT_S)
        watch.tally(played)
        played.saved = await result.save(folder / effect.slug, on_progress=hear)
    except FleetError as problem:
        played.error = problem.message
    return played


class LedgerUnread(Unavailable):
    """The jobs were played; what they cost could not be read."""

    code = "ledger_unread"
    text = "The ledger at {url} cannot be read: {problem}. What the demo made is in its folder."


async def read_ledger(url: str, key: str) -> tuple[int, list[dict[str, Any]]]:
    """The balance, and the newest transactions first. Raises LedgerUnread."""
    try:
        return await _read_ledger(url, key)
    except httpx2.HTTPError as problem:
        raise LedgerUnread(url=url, problem=str(problem).partition("\n")[0]) from None


async def _read_ledger(url: str, key: str) -> tuple[int, list[dict[str, Any]]]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=LEDGER_WITHIN_S) as client:
        rows = await client.get("/api/wallet/transactions", params={"limit": LEDGER_ROWS})
        wallet = await client.get("/api/wallet")
        rows.raise_for_status()
        wallet.raise_for_status()
        return int(wallet.json()["balance"]), list(rows.json()["transactions"])
