"""One attempt: inputs to a server, a prompt, an outcome. What goes wrong on the way is an ending, too."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import TypeAlias

import structlog

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import PromptRefused, ServerUnreachable
from comfyfleet.comfy.model import (
    OUTCOMES,
    Checked,
    Failed,
    FailureClass,
    Outcome,
    Prompt,
    Queued,
    Returned,
    Submitted,
    Update,
    new_prompt_id,
)
from comfyfleet.comfy.node_times import NodeTimes
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.pool.inputs import Uploads
from comfyfleet.pool.judge import Ending, Stop
from comfyfleet.pool.model import QueuedJob
from comfyfleet.pool.refusals import ending_of, names_any

log = structlog.get_logger()

Heard: TypeAlias = Submitted | Update

CANCEL_S = 15.0  # for the server to confirm; after that we stop listening and the prompt is on its own


class Phase(Enum):
    NEW = auto()
    PREPARING = auto()
    SUBMITTING = auto()
    WATCHING = auto()
    ENDED = auto()


class Attempt:
    def __init__(
        self,
        connector: Connector,
        uploads: Uploads,
        job: QueuedJob,
        *,
        tell: Callable[[Heard], None],
        node_times: NodeTimes,
    ) -> None:
        self.job = job
        self._node_times = node_times
        self.prompt_id = new_prompt_id()
        self.submitted: Submitted | None = None
        self.started_at: float | None = None  # of the loop's clock: the server has taken it
        self._ran = False
        self._connector = connector
        self._uploads = uploads
        self._tell = tell
        self._phase = Phase.NEW
        self._stop: Stop | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._task: asyncio.Task[Ending] | None = None

    def start(self) -> asyncio.Task[Ending]:
        self._task = asyncio.create_task(self._run(), name=f"attempt {self.job.id}")
        return self._task

    def stop(self, stop: Stop) -> None:
        """Asks it to end; it may still complete. A cancel that comes after a give back wins."""
        if self._phase is Phase.ENDED or self._stop == "cancel":
            return
        first, self._stop = self._stop is None, stop
        if not first or self._task is None or self._phase is Phase.NEW:
            return
        if self._phase is Phase.PREPARING:
            self._task.cancel()
        else:
            self._stopping = asyncio.create_task(self._stop_by(self._phase))

    @property
    def waits_since(self) -> float | None:
        """Since when it stands in the server's queue, on the loop's clock. None: it does not, as far as we heard."""
        waits = self._phase is Phase.WATCHING and self._stop is None and not self._ran
        return self.started_at if waits else None

    async def _run(self) -> Ending:
        try:
            ending = await self._go()
        except FleetError as error:
            ending = self._ending_of(error)
        except asyncio.CancelledError:
            if self._stop is None:
                raise
            await self._withdraw()
            ending = Ending(Returned("stopped"))
        finally:
            self._phase = Phase.ENDED
            if self._stopping is not None:
                self._stopping.cancel()
                await asyncio.gather(self._stopping, return_exceptions=True)
        return Ending(ending.outcome, ending.lacks, self._stop)

    async def _go(self) -> Ending:
        if self._stop is not None:
            return Ending(Returned("stopped"))
        self._phase = Phase.PREPARING
        graph = await self._uploads.bind_inputs(self.job.graph, self.job.inputs)
        weights = self._node_times.weights(self.job.structure_hash, graph)
        prompt = Prompt(graph, self.prompt_id, output_node=self.job.output_node, node_weights=weights)
        self._phase = Phase.SUBMITTING
        await self._submit(prompt)
        self._phase = Phase.WATCHING
        if self._stopping is not None:
            self._stopping.cancel()
            self._stopping = asyncio.create_task(self._stop_by(Phase.WATCHING))
        return Ending(await self._watch(prompt))

    def _ending_of(self, error: FleetError) -> Ending:
        if isinstance(error, PromptRefused) and names_any(error, [file.name for file in self.job.inputs.values()]):
            # We put it there, so somebody has swept it away: nobody's fault, and it is sent again.
            return Ending(Failed(FailureClass.INFRA, error.message))
        return ending_of(error)

    async def _submit(self, prompt: Prompt) -> None:
        try:
            self._accepted(await self._connector.submit(prompt))
        except Unavailable as error:
            if isinstance(error, ServerUnreachable) and not error.sent:
                raise
            # The answer is lost, the prompt perhaps not: a second POST would run it twice. The watch finds out.

    def _accepted(self, submitted: Submitted) -> None:
        self.submitted = submitted
        self.started_at = asyncio.get_running_loop().time()
        self._tell(submitted)

    async def _withdraw(self) -> None:
        """As well as it goes, for a prompt that may be on the server and that nobody will watch."""
        if self._phase is Phase.SUBMITTING:
            with suppress(FleetError, TimeoutError):
                async with asyncio.timeout(CANCEL_S):
                    await self._connector.cancel(self.prompt_id)

    async def _watch(self, prompt: Prompt) -> Outcome:
        updates = self._connector.watch(prompt, deadline_s=self.job.deadline_s)
        try:
            async for heard in updates:
                if isinstance(heard, Checked):
                    self._note(heard)
                    continue
                if self.submitted is None and not isinstance(heard, Returned | Failed):
                    self._accepted(Submitted(self.prompt_id, 0))
                if isinstance(heard, OUTCOMES):
                    return heard
                self._ran = self._ran or not isinstance(heard, Queued)
                self._tell(heard)
        finally:
            if hasattr(updates, "aclose"):
                await updates.aclose()
        return Failed(FailureClass.INFRA, "the connector stopped watching without an outcome")

    def _note(self, checked: Checked) -> None:
        if checked.recovers:
            facts = {"job": self.job.id, "server": self._connector.name, "prompt_id": self.prompt_id}
            log.info("pool.recovered_by_health_check", action=checked.action, reason=checked.reason, **facts)

    async def _stop_by(self, phase: Phase) -> None:
        """The watch hears of a cancel by itself. If it does not, or while the POST is out, we stop waiting some day."""
        try:
            async with asyncio.timeout(CANCEL_S):
                if phase is Phase.WATCHING:
                    await self._connector.cancel(self.prompt_id)
                await asyncio.Event().wait()
        except (FleetError, TimeoutError) as error:
            problem = str(error) or f"nothing heard for {seconds_text(CANCEL_S)}"
            log.warning("pool.cancel_not_confirmed", job=self.job.id, server=self._connector.name, problem=problem)
        if self._task is not None:
            self._task.cancel()
