"""A worker whose engine is a clock: it leases, confirms, runs, uploads and completes as the agent does, one job ahead.

Its loops: leases while there is room; runs one job after the other; beats for all it holds; delivers beside the next.
"""

import asyncio
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID, uuid4

import msgspec

from comfyfleet.kernel.errors import LeaseLost, Unavailable
from comfyfleet.simulate.line import Answer, Line
from comfyfleet.simulate.stage import STAGE, Stage
from comfyfleet.simulate.tally import Tally
from comfyfleet.wire import worker_v1 as wire

WAIT_S = 10.0
LEASE_AHEAD = 1
# Asked to give one back, it lets others go first.
REST_AHEAD_S = 3.0
OUTPUT_NAME, OUTPUT_TYPE = "simulated.png", "image/png"
OK, CONFLICT = 200, 409

T = TypeVar("T")


class WorkerRefused(Unavailable):
    """A call of the protocol got an answer that no worker should get."""

    code = "simulated_worker_refused"
    text = "The control plane answered {status} to {call}: {said}"


@dataclass
class Held:
    job: wire.Job
    seconds: float
    begun: bool = False
    given_up: bool = False

    @property
    def job_id(self) -> str:
        return str(self.job.job_id)


@dataclass
class SimulatedWorker:
    number: int
    stage: Stage
    tally: Tally
    output: bytes
    token: str = ""
    beat_every_s: float = 30.0
    held: dict[UUID, Held] = field(default_factory=dict)
    waiting: deque[Held] = field(default_factory=deque)
    delivering: set[asyncio.Task[None]] = field(default_factory=set)
    runs_until: float = 0.0
    ahead_again_at: float = 0.0
    stopping: bool = False

    def __post_init__(self) -> None:
        self.name = f"simulated-{self.stage.mark}-{self.number}"
        self._polls, self._calls = Line(self.stage.url), Line(self.stage.url)
        self._beats = Line(self.stage.url)
        self._changed, self._fresh = asyncio.Event(), asyncio.Event()
        self._lock = asyncio.Lock()

    # ── its life ──

    async def register(self) -> None:
        said = wire.Register(worker_id=self.name, fleet_slug=self.stage.fleet, stage=STAGE)
        headers = f"X-Fleet-Secret: {self.stage.fleet_secret}\r\n"
        answer = await self._calls.post("/api/worker/register", headers, msgspec.json.encode(said))
        registered = _read("register", answer, wire.Registered)
        self.token, self.beat_every_s = registered.token, registered.heartbeat_interval_seconds

    async def live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            running = self._run_on(tasks)
            loops = [tasks.create_task(each) for each in (self._lease_on(), running, self._beat_on())]
            await self._until_stopped()
            for loop in loops:
                loop.cancel()

    def stop(self) -> None:
        self.stopping = True
        self._changed.set()

    async def leave(self) -> None:
        said = msgspec.json.encode(wire.Deregister(worker_id=self.name))
        try:
            await self._calls.post("/api/worker/deregister", self._headers, said)
        finally:
            for line in (self._polls, self._calls, self._beats):
                await line.close()

    async def _until_stopped(self) -> None:
        while not self.stopping:
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # ── its loops ──

    async def _lease_on(self) -> None:
        while True:
            if len(self.held) > LEASE_AHEAD:
                await self._change()
                continue
            if self.held and (rest_s := self.ahead_again_at - time.monotonic()) > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(rest_s):
                        await self._change()
                continue
            job = await self._poll()
            if job is not None:
                seconds = _Payload.of(job).seconds
                self.held[job.dispatch_id] = held = Held(job, seconds)
                self.waiting.append(held)
                self._fresh.set()
                self._changed.set()

    async def _poll(self) -> wire.Job | None:
        """Ahead of a running job it waits no longer than that runs: an idle worker must not stand there as busy."""
        left_s = self.runs_until - time.monotonic()
        wait_s = min(WAIT_S, max(0.0, left_s)) if self.held else WAIT_S
        said = wire.Poll(
            worker_id=self.name,
            current_load=len(self.held),
            uploading=len(self.delivering),
            wait_seconds=wait_s,
            poll_id=str(uuid4()),
        )
        answer = await self._polls.post("/api/worker/poll", self._headers, msgspec.json.encode(said), wait_s=wait_s)
        return _read("poll", answer, wire.PollReply).job

    async def _run_on(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            if not self.waiting:
                await self._change()
                continue
            held = self.waiting.popleft()
            if held.given_up:
                continue
            held.begun = True
            began = time.monotonic()
            self.runs_until = began + held.seconds
            self.tally.begin(held.job_id, self.number, began)
            await asyncio.sleep(held.seconds)
            self.tally.end(held.job_id, time.monotonic())
            delivery = tasks.create_task(self._deliver(held))
            self.delivering.add(delivery)
            delivery.add_done_callback(self.delivering.discard)
            self.held.pop(held.job.dispatch_id, None)
            self._changed.set()

    async def _beat_on(self) -> None:
        """At once for what is new, for that confirms a lease; then at the pace that the server asked for."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.beat_every_s):
                    await self._fresh.wait()
            self._fresh.clear()
            await self._beat()

    async def _beat(self) -> None:
        leases = [
            wire.HeldLease(dispatch_id=held.job.dispatch_id, lease_token=held.job.lease_token, ahead=not held.begun)
            for held in self.held.values()
        ]
        if not leases:
            return
        said = wire.Heartbeat(worker_id=self.name, current_load=len(leases), leases=leases)
        answer = await self._beats.post("/api/worker/heartbeat", self._headers, msgspec.json.encode(said))
        told = _read("heartbeat", answer, wire.HeartbeatReply)
        self.beat_every_s = told.heartbeat_interval_seconds
        for dispatch_id in told.lost:
            self._give_up(dispatch_id)
            self.tally.lost += 1
        for state in told.leases:
            held = self.held.get(state.dispatch_id)
            if state.give_back and held is not None and not held.begun:
                self._give_up(state.dispatch_id)
                self.tally.given_back += 1
                self.ahead_again_at = time.monotonic() + REST_AHEAD_S
                await self._end("requeue", held, wire.Requeue, reason="an idle worker can have it")

    def _give_up(self, dispatch_id: UUID) -> None:
        if (held := self.held.pop(dispatch_id, None)) is not None:
            held.given_up = True
            self._changed.set()

    # ── what it says ──

    async def _deliver(self, held: Held) -> None:
        output = await self._upload(held)
        reply = await self._end("complete", held, wire.Complete, outputs=[output]) if output is not None else None
        if reply is not None:
            self.tally.deliver(held.job_id, completed=reply.status == "completed")

    async def _upload(self, held: Held) -> wire.Output | None:
        """None: the lease was lost."""
        wanted = wire.WantedOutput(name=OUTPUT_NAME, mime_type=OUTPUT_TYPE, size=len(self.output))
        said = wire.Outputs(
            worker_id=self.name,
            dispatch_id=held.job.dispatch_id,
            lease_token=held.job.lease_token,
            outputs=[wanted],
        )
        async with self._lock:
            answer = await self._calls.post("/api/worker/outputs", self._headers, msgspec.json.encode(said))
        if _is_lost(answer):
            self.tally.lost += 1
            return None
        (place,) = _read("outputs", answer, wire.OutputsReply).outputs
        signed = {name: value for name, value in place.output_headers.items() if name.lower() != "content-length"}
        headers = "".join(f"{name}: {value}\r\n" for name, value in signed.items())
        await self._put(place.output_url, headers)
        return wire.Output(path=place.path, name=OUTPUT_NAME, mime_type=OUTPUT_TYPE, size=len(self.output))

    async def _put(self, url: str, headers: str) -> None:
        own = url.removeprefix(self.stage.url.rstrip("/"))
        if own.startswith("/"):
            async with self._lock:
                answer = await self._calls.say("PUT", own, headers, self.output)
        else:
            base, _, path = url.partition("://")[2].partition("/")
            line = Line(f"{url.partition('://')[0]}://{base}")
            try:
                answer = await line.say("PUT", f"/{path}", headers, self.output)
            finally:
                await line.close()
        if answer.status >= 300 and answer.status != 412:  # 412: it is there; the first reply was lost
            raise WorkerRefused(status=answer.status, call="PUT of an output", said=answer.body[:200].decode())

    async def _end(self, call: str, held: Held, kind: type[Any], **more: Any) -> wire.EndReply | None:
        """None: the lease was lost, and with it the right to end anything."""
        said = kind(worker_id=self.name, dispatch_id=held.job.dispatch_id, lease_token=held.job.lease_token, **more)
        async with self._lock:
            answer = await self._calls.post(f"/api/worker/{call}", self._headers, msgspec.json.encode(said))
        if _is_lost(answer):
            self.tally.lost += 1
            return None
        return _read(call, answer, wire.EndReply)

    @property
    def _headers(self) -> str:
        return f"Authorization: Bearer {self.token}\r\n"


class _Payload(msgspec.Struct):
    properties: dict[str, Any]

    @property
    def seconds(self) -> float:
        return float(self.properties["seconds"])

    @classmethod
    def of(cls, job: wire.Job) -> "_Payload":
        return msgspec.json.decode(job.input_payload, type=cls)


def _is_lost(answer: Answer) -> bool:
    return answer.status == CONFLICT and LeaseLost.code.encode() in answer.body


def _read(call: str, answer: Answer, shape: type[T]) -> T:
    if answer.status != OK:
        raise WorkerRefused(status=answer.status, call=call, said=answer.body[:300].decode(errors="replace"))
    return msgspec.json.decode(answer.body, type=shape)
