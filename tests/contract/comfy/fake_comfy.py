"""A ComfyUI in this process, in virtual time: its queue, its history, its socket and its bad habits.

What it does is in `docs/explanation/watching-a-prompt.md` and in the recordings; faults are switched on by fields.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from comfyfleet.comfy.errors import ServerUnreachable, UnexpectedAnswer
from comfyfleet.comfy.feed import Feed
from comfyfleet.comfy.messages import (
    Disconnected,
    Executed,
    Executing,
    ExecutionCached,
    ExecutionError,
    ExecutionInterrupted,
    ExecutionStart,
    ExecutionSuccess,
    Heard,
    NodeState,
    PreviewImage,
    ProgressState,
    ProgressStep,
    Reconnected,
    Status,
    prompt_of,
)
from comfyfleet.comfy.model import HistoryEntry, HistoryMessage, Prompt, QueueState, new_prompt

GRAPH = {
    "1": {"class_type": "EmptyLatentImage", "inputs": {"width": 64}},
    "2": {"class_type": "KSampler", "inputs": {"latent_image": ["1", 0], "steps": 4}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0]}},
}
PICTURE = {"images": [{"filename": "a_00001_.png", "subfolder": "", "type": "output"}]}
STEPS = 4


@dataclass
class Job:
    """One prompt and how it will go."""

    prompt: Prompt
    node_s: float = 1.0
    cached: bool = False
    outputs: dict[str, Any] = field(default_factory=lambda: {"3": PICTURE})
    error: ExecutionError | None = None  # raised at node 2
    hangs: bool = False  # at node 2, for ever: the executor's thread is dead
    silent_s: float = 0.0  # a model loads before node 2, which nobody can interrupt
    history_late_s: float = 0.001
    history_kept: bool = True
    done: bool = False  # really executed to its end, whatever anyone says


class Interrupted(Exception):
    pass


def a_prompt() -> Prompt:
    return new_prompt(GRAPH)


class FakeComfy:
    def __init__(self, *, latency_s: float = 0.002) -> None:
        self.latency_s = latency_s
        self.pending: list[Job] = []
        self.running: Job | None = None
        self.entries: dict[str, HistoryEntry] = {}
        self.runs: list[str] = []  # prompt ids, once for every start
        self.sent: list[Heard] = []
        self.asked: list[str] = []  # requests, in order
        self.interrupted_ids: list[str] = []
        self.deleted_ids: list[str] = []
        self.up = True
        self.refuses = False  # while it is down, its port says so
        self.executor_alive = True
        self.answers_garbage = False
        self.blank_from_s = self.blank_until_s = 0.0  # it says that it knows of nothing, as a starting server does
        self.drop_at: int | None = None  # the message that falls into the gap
        self.silent_from: int | None = None  # deaf, and nobody knows
        self.reconnect_s = 0.5
        self.interrupt_late_s = 0.0  # between the server's test of the id and its global flag
        self.connected = True
        self._feeds: dict[str, Feed] = {}
        self._interrupt_flag = False
        self._work = asyncio.Event()
        self._tasks = {asyncio.create_task(self._execute())}

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def later(self, delay_s: float, what: Any, *args: Any) -> None:
        asyncio.get_running_loop().call_later(delay_s, what, *args)

    # The socket

    def feed(self, prompt_id: str) -> Feed:
        return self._feeds.setdefault(prompt_id, Feed(prompt_id))

    def _say(self, message: Heard) -> None:
        index = len(self.sent)
        self.sent.append(message)
        if index == self.drop_at:
            self.disconnect()
            self.later(self.reconnect_s, self.reconnect)
        if not self.connected or (self.silent_from is not None and index >= self.silent_from):
            return
        whose = prompt_of(message)  # type: ignore[arg-type]
        for prompt_id, feed in self._feeds.items():
            if whose in (None, prompt_id):
                feed.put(message)

    def _status(self) -> None:
        self._say(Status(len(self.pending) + (self.running is not None)))

    def disconnect(self) -> None:
        if self.connected:
            self.connected = False
            self._tell_all(Disconnected("gone"))

    def reconnect(self) -> None:
        if not self.up:
            self.later(self.reconnect_s, self.reconnect)
        elif not self.connected:
            self.connected = True
            self._tell_all(Reconnected())

    def _tell_all(self, heard: Heard) -> None:
        for feed in self._feeds.values():
            feed.put(heard)

    # The routes

    async def _answer(self, request: str) -> None:
        self.asked.append(request)
        await asyncio.sleep(self.latency_s)
        if not self.up:
            raise ServerUnreachable("fake", problem="down", sent=not self.refuses, refused=self.refuses)
        if self.answers_garbage:
            raise UnexpectedAnswer("fake", route=request, status=200, problem="a web page")

    @property
    def _blank(self) -> bool:
        return self.blank_from_s <= asyncio.get_running_loop().time() < self.blank_until_s

    async def queue(self) -> QueueState:
        await self._answer("queue")
        if self._blank:
            return QueueState((), ())
        running = () if self.running is None else (self.running.prompt.prompt_id,)
        return QueueState(running, tuple(job.prompt.prompt_id for job in self.pending))

    async def history(self, prompt_id: str) -> HistoryEntry | None:
        await self._answer("history")
        return None if self._blank else self.entries.get(prompt_id)

    async def delete_pending(self, prompt_ids: Sequence[str]) -> None:
        await self._answer("delete")
        self.deleted_ids += prompt_ids
        for prompt_id in prompt_ids:
            job = next((job for job in self.pending if job.prompt.prompt_id == prompt_id), None)
            if job is not None:
                self.pending.remove(job)
                self._status()

    async def interrupt(self, prompt_id: str) -> None:
        await self._answer("interrupt")
        self.interrupted_ids.append(prompt_id)
        if self.running is not None and self.running.prompt.prompt_id == prompt_id:
            self.later(self.interrupt_late_s, self.interrupt_whatever_runs)

    def interrupt_whatever_runs(self) -> None:
        self._interrupt_flag = True

    def enqueue(self, job: Job) -> None:
        self.pending.append(job)
        self._status()
        self._work.set()

    def restart(self, *, down_s: float = 20.0) -> None:
        """Everything in memory is gone."""
        self.up = False
        for task in self._tasks:
            task.cancel()
        self.pending, self.running, self.entries = [], None, {}
        self.disconnect()
        self.later(down_s, self._come_back)
        self.later(down_s + self.reconnect_s, self.reconnect)

    def _come_back(self) -> None:
        self.up = True
        self._tasks.add(asyncio.create_task(self._execute()))

    # The executor

    async def _execute(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self.pending and self.executor_alive:
                self.running = self.pending.pop(0)
                self.runs.append(self.running.prompt.prompt_id)
                self._interrupt_flag = False
                await self._run(self.running)

    async def _run(self, job: Job) -> None:
        prompt_id = job.prompt.prompt_id
        self._status()
        self._say(ExecutionStart(prompt_id))
        last: Heard
        outputs = job.outputs
        try:
            await (self._run_cached(job) if job.cached else self._run_nodes(job))
            last, job.done = ExecutionSuccess(prompt_id), True
        except Interrupted:
            last, outputs = ExecutionInterrupted(prompt_id, node_id="2", node_type="KSampler"), {}
        except RuntimeError:
            last, outputs = job.error or ExecutionError(prompt_id), {}
        self._say(last)
        await asyncio.sleep(job.history_late_s)
        self.running = None
        if job.history_kept:
            self.entries[prompt_id] = an_entry(prompt_id, last, outputs)
        self._status()
        self._say(Executing(None, prompt_id))

    async def _run_cached(self, job: Job) -> None:
        prompt_id = job.prompt.prompt_id
        self._say(ExecutionCached(prompt_id, tuple(job.prompt.graph)))
        for node, ui in job.outputs.items():
            self._say(Executed(prompt_id, node, ui))

    async def _run_nodes(self, job: Job) -> None:
        prompt_id = job.prompt.prompt_id
        self._say(ExecutionCached(prompt_id, ()))
        states: dict[str, NodeState] = {}
        for node in job.prompt.graph:
            states[node] = NodeState(0, 1, "running")
            self._say(ProgressState(prompt_id, dict(states)))
            self._say(Executing(node, prompt_id, node))
            if node == "2":
                await self._sample(job, states)
            await self._pass(job.node_s)
            if node in job.outputs:
                self._say(Executed(prompt_id, node, job.outputs[node]))
            states[node] = NodeState(1, 1, "finished")
            self._say(ProgressState(prompt_id, dict(states)))

    async def _sample(self, job: Job, states: dict[str, NodeState]) -> None:
        prompt_id = job.prompt.prompt_id
        if job.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(job.silent_s)
        if job.error is not None:
            raise RuntimeError
        for step in range(1, STEPS + 1):
            await self._pass(job.node_s / STEPS)
            states["2"] = NodeState(step, STEPS, "running")
            self._say(ProgressState(prompt_id, dict(states)))
            self._say(ProgressStep(step, STEPS, prompt_id, "2"))
            self._say(PreviewImage("image/jpeg", b"\xff\xd8"))

    async def _pass(self, seconds: float) -> None:
        if self._interrupt_flag:
            self._interrupt_flag = False
            raise Interrupted
        await asyncio.sleep(seconds)
        if self._interrupt_flag:
            self._interrupt_flag = False
            raise Interrupted


def an_entry(prompt_id: str, last: Heard, outputs: dict[str, Any]) -> HistoryEntry:
    said = (HistoryMessage("execution_start", {}), HistoryMessage("execution_cached", {"nodes": []}))
    match last:
        case ExecutionSuccess():
            status, message = "success", HistoryMessage("execution_success", {"prompt_id": prompt_id})
        case ExecutionInterrupted():
            status, message = "error", HistoryMessage("execution_interrupted", {"node_id": "2"})
        case ExecutionError():
            facts = {
                "node_id": last.node_id,
                "node_type": last.node_type,
                "exception_type": last.exception_type,
                "exception_message": last.exception_message,
            }
            status, message = "error", HistoryMessage("execution_error", facts)
        case _:
            raise AssertionError(last)
    return HistoryEntry(prompt_id, status, status == "success", (*said, message), outputs, output_nodes=("3",))
