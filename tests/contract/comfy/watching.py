"""Running a watch against the fake, and what is always true of one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from comfyfleet.comfy.health import DEFAULT_PATIENCE, Patience
from comfyfleet.comfy.model import OUTCOMES, Outcome, Progress, Update
from comfyfleet.comfy.watch import Attempt, watch
from tests.contract.comfy.fake_comfy import FakeComfy, Job
from tests.virtual_time import run_virtually

DEADLINE_S = 3600.0
Arrange = Callable[[FakeComfy, Attempt], Awaitable[None]]


@dataclass
class Seen:
    server: FakeComfy
    updates: list[Update] = field(default_factory=list)
    outcome: Outcome | None = None
    took_s: float = 0.0

    @property
    def fractions(self) -> list[float]:
        return [update.fraction for update in self.updates if isinstance(update, Progress)]


async def watch_to_the_end(
    server: FakeComfy, attempt: Attempt, *, deadline_s: float = DEADLINE_S, patience: Patience = DEFAULT_PATIENCE
) -> Seen:
    clock = asyncio.get_running_loop()
    began_s = clock.time()
    seen = Seen(server)
    feed = server.feed(attempt.prompt.prompt_id)
    async for element in watch(attempt, server, feed, deadline_s=deadline_s, patience=patience):
        assert seen.outcome is None, "an outcome is the last element"
        if isinstance(element, OUTCOMES):
            seen.outcome = element
        else:
            seen.updates.append(element)
    seen.took_s = clock.time() - began_s
    assert seen.outcome is not None
    assert seen.outcome == attempt.outcome
    assert seen.fractions == sorted(seen.fractions)
    return seen


def watch_job(
    job: Job,
    arrange: Arrange | None = None,
    *,
    deadline_s: float = DEADLINE_S,
    patience: Patience = DEFAULT_PATIENCE,
    submit_ambiguous: bool = False,
) -> Seen:
    """Posts `job`, lets `arrange` do its mischief, and watches. Without `arrange` the job is simply queued."""

    async def main() -> Seen:
        server = FakeComfy()
        attempt = Attempt(job.prompt, submit_ambiguous=submit_ambiguous)
        server.feed(job.prompt.prompt_id)
        if arrange is None:
            server.enqueue(job)
        else:
            await arrange(server, attempt)
        try:
            return await watch_to_the_end(server, attempt, deadline_s=deadline_s, patience=patience)
        finally:
            await server.close()

    return run_virtually(main())
