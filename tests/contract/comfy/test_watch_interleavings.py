"""Two reads are not one: a prompt moves on between them. Every interleaving of the two, and a swept finish."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import combinations_with_replacement

import pytest

from comfyfleet.comfy.health import Look, Reads, look_for
from comfyfleet.comfy.messages import ExecutionSuccess
from comfyfleet.comfy.model import Absent, Completed, Finished, Found, HistoryEntry, Pending, QueueState, Running
from comfyfleet.comfy.watch import Attempt
from comfyfleet.comfy.withdraw import withdraw
from tests.contract.comfy.fake_comfy import FakeComfy, Job, a_prompt, an_entry
from tests.contract.comfy.watching import watch_job
from tests.virtual_time import run_virtually

STAGES = ("pending", "running", "finished")
ENTRY = an_entry("p", ExecutionSuccess("p"), {})


class Moving:
    """Where the prompt stands at the first request, and at the second. It only ever moves on."""

    def __init__(self, *stages: str) -> None:
        self._stages = list(stages)

    async def queue(self) -> QueueState:
        stage = self._stages.pop(0)
        return QueueState(("p",) * (stage == "running"), ("p",) * (stage == "pending"))

    async def history(self, prompt_id: str) -> HistoryEntry | None:
        return ENTRY if self._stages.pop(0) == "finished" else None


async def look_the_other_way_round(server: Reads, prompt_id: str) -> Look:
    """The mutant: history first. This is what the official proxy does, and it loses 7 % of its jobs."""
    entry = await server.history(prompt_id)
    if entry is not None:
        return Look(Finished(entry))
    queue = await server.queue()
    found: Found = Running() if prompt_id in queue.running else Pending(0) if prompt_id in queue.pending else Absent()
    return Look(found)


async def _lost_by(look: Callable[[Reads, str], Awaitable[Look]]) -> list[tuple[str, ...]]:
    interleavings = list(combinations_with_replacement(STAGES, 2))
    return [stages for stages in interleavings if isinstance((await look(Moving(*stages), "p")).found, Absent)]


async def test_no_interleaving_loses_a_prompt() -> None:
    assert await _lost_by(look_for) == []


async def test_the_other_order_is_caught() -> None:
    assert await _lost_by(look_the_other_way_round) == [("pending", "finished"), ("running", "finished")]


@pytest.mark.parametrize("latency_ms", [1, 100, 900])
def test_a_prompt_that_ends_at_any_moment_of_any_look_is_completed(latency_ms: int) -> None:
    """Nobody hears anything: only looks can tell, and the prompt ends a little later each time."""

    async def deaf(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from, server.latency_s = 0, latency_ms / 1000
        server.enqueue(Job(attempt.prompt, node_s=node_s))
        if latency_ms > 1:  # a look is always under way
            for moment_ms in range(0, 5000, 2 * latency_ms):
                server.later(moment_ms / 1000, server.disconnect)
                server.later((moment_ms + latency_ms) / 1000, server.reconnect)

    for step in range(60):
        node_s = 0.2 + step * 0.005
        seen = watch_job(Job(a_prompt()), deaf)
        assert isinstance(seen.outcome, Completed)
        assert len(seen.server.runs) == 1


@pytest.mark.parametrize("moment_ms", range(0, 4100, 100))
def test_withdrawing_ends_with_the_prompt_off_the_server(moment_ms: int) -> None:
    async def main() -> None:
        server = FakeComfy()
        ours, other = a_prompt(), a_prompt()
        server.enqueue(Job(ours))
        server.enqueue(Job(other))
        await asyncio.sleep(moment_ms / 1000)
        found = await withdraw(server, ours.prompt_id)
        assert isinstance(found, Finished | Absent)
        assert server.running is None or server.running.prompt is other
        await asyncio.sleep(10)
        assert [message.type for message in server.entries[other.prompt_id].messages][-1] == "execution_success"
        await server.close()

    run_virtually(main())
