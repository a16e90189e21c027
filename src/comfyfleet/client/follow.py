"""A job until it is over: by its stream of events, again from the last one after a break, or by asking."""

import random
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from comfyfleet.client.ask import error_of, may_help
from comfyfleet.client.errors import StillRunning, StrangeAnswer, decode
from comfyfleet.client.events import Event, StatusChanged, read_event
from comfyfleet.client.jobs import job_path
from comfyfleet.client.model import OVER, Job, stage_of
from comfyfleet.client.sse import Parser, TooLong
from comfyfleet.client.steps import Answer, Broken, Call, Close, Flow, Open, Pause, Read, Send, Tell
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError

# The server says something every 15 s.
SILENT_S_MAX = 40.0
# Something in between keeps the events back: so it is not asked for them any more.
SILENT_STREAMS_MAX = 2
POLL_EVERY_S = 2.0
PAUSE_S, PAUSE_S_MAX = 0.2, 5.0
AWAY_S_MAX = 300.0


class Follower:
    """`wait_s` None waits for as long as it takes; a server that is away is waited for, for five minutes."""

    def __init__(
        self,
        job_id: str | UUID,
        *,
        wait_s: float | None = None,
        previews: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._job_id = job_path(job_id), str(job_id)
        self._previews, self._wait_s, self._clock = previews, wait_s, clock
        self._began_at = self._heard_at = clock()
        self._cursor: str | None = None
        self._status = ""
        self._streams = True
        self._silent_streams = self._failures = 0

    def story(self) -> Flow[Job]:
        """Tells each event; ends with the job as it ended, whatever that was."""
        while True:
            if self._streams:
                yield from self._listen()
            job = yield from self._look()
            if job is not None:
                yield from self._tell(StatusChanged(self._job_id, job.status, job.error))
                if job.is_over:
                    return job
            left_s = self._left_s()
            if left_s is not None and left_s <= 0:
                raise StillRunning(self._job_id, self._status, self._wait_s or 0.0)
            yield Pause(min(self._pause_s(), left_s if left_s is not None else PAUSE_S_MAX))

    def _pause_s(self) -> float:
        if not self._streams:
            return POLL_EVERY_S
        chance = random.random()  # noqa: S311 jitter
        return backoff_s(self._failures + 1, chance=chance, base_s=PAUSE_S, ceiling_s=PAUSE_S_MAX)

    def _left_s(self) -> float | None:
        return None if self._wait_s is None else self._began_at + self._wait_s - self._clock()

    # ── by asking ──

    def _look(self) -> Flow[Job | None]:
        """None: nobody answered this time."""
        outcome: Answer | Broken = yield Send(Call("GET", self._path))
        if isinstance(outcome, Answer) and outcome.status == 200:
            self._heard_at = self._clock()
            return decode(outcome.host, outcome.status, outcome.body, Job)
        if not may_help(outcome) or self._clock() - self._heard_at > AWAY_S_MAX:
            raise error_of(outcome)
        self._failures += 1
        return None

    # ── by listening ──

    def _listen(self) -> Flow[None]:
        left_s = self._left_s()
        outcome: Answer | Broken = yield Open(self._call(left_s))
        if isinstance(outcome, Broken):
            self._failures += 1
        elif outcome.status == 204:
            pass  # the end was read
        elif outcome.status == 200 and outcome.headers.get("content-type", "").startswith("text/event-stream"):
            yield from self._read()
        else:
            self._judge(outcome)
        yield Close()

    def _call(self, left_s: float | None) -> Call:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self._cursor} if self._cursor else {})}
        idle_s = SILENT_S_MAX if left_s is None else min(SILENT_S_MAX, max(left_s, 0.1))
        params = {"previews": str(self._previews).lower()}
        return Call("GET", f"{self._path}/events", params=params, headers=headers, idle_s=idle_s)

    def _judge(self, outcome: Answer) -> None:
        error: FleetError = error_of(outcome)
        if may_help(outcome):
            self._failures += 1
        elif isinstance(error, StrangeAnswer):
            self._streams = False  # somebody in between; the job itself may well be reached
        else:
            raise error

    def _read(self) -> Flow[None]:
        parser, heard = Parser(), False
        while True:
            chunk: bytes | Broken | None = yield Read()
            if not isinstance(chunk, bytes):
                break
            heard, self._failures, self._heard_at = True, 0, self._clock()
            try:
                for event in list(self._events(parser, chunk)):
                    yield from self._tell(event)
            except TooLong:
                self._streams = False
                return
            left_s = self._left_s()
            if self._status in OVER or (left_s is not None and left_s <= 0):
                return
        self._failures += 0 if heard else 1
        self._count_silence(heard, chunk)

    def _count_silence(self, heard: bool, end: Broken | None) -> None:
        silent = isinstance(end, Broken) and end.timed_out and not heard
        self._silent_streams = self._silent_streams + 1 if silent else 0
        if self._silent_streams >= SILENT_STREAMS_MAX:
            self._streams = False

    def _events(self, parser: Parser, chunk: bytes) -> Iterator[Event]:
        for said in parser.feed(chunk):
            self._cursor = said.id or self._cursor
            event = read_event(self._job_id, said.event, said.data)
            if event is not None:
                yield event

    def _tell(self, event: Event) -> Flow[None]:
        if isinstance(event, StatusChanged):
            # The stream may know of a start before the job's own row does: what was told is not taken back.
            if stage_of(event.status) <= stage_of(self._status):
                return
            self._status = event.status
        yield Tell(event)


def follow_job(job_id: str | UUID, *, wait_s: float | None = None, previews: bool = False) -> Flow[Job]:
    return Follower(job_id, wait_s=wait_s, previews=previews).story()
