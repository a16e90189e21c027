"""Simulated workers, in a process of their own: `python -m bench.dispatch.load`, the order as JSON on stdin.

`drain`: each takes jobs and completes them for so many seconds; the count is printed. `park`: all wait for jobs, with
heartbeats, until stdin closes; every job that one of them gets is a line with the time it came.
"""

import asyncio
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import uvloop

from bench.dispatch.wire import Line, SimulatedWorker, job_of, open_line

WAIT_S = 30
DRAIN_WAIT_S = 2
HEARTBEAT_S = 30.0
HEARTBEAT_LINES = 16
OPENING_AT_ONCE = 200


@dataclass
class Drain:
    port: int
    workers: Sequence[SimulatedWorker]
    seconds: float
    completed: int = 0

    async def run(self) -> dict[str, Any]:
        lines = await open_lines(self.port, len(self.workers))
        warm_s = self.seconds / 5
        tasks = [asyncio.create_task(self._work(*each)) for each in zip(lines, self.workers, strict=True)]
        await _sleep_beside(tasks, warm_s)
        before, began = self.completed, time.perf_counter()
        await _sleep_beside(tasks, self.seconds)
        done, took = self.completed - before, time.perf_counter() - began
        for task in tasks:
            task.cancel()
        return {"completed": done, "seconds": took}

    async def _work(self, line: Line, worker: SimulatedWorker) -> None:
        poll = worker.poll(wait_s=DRAIN_WAIT_S)
        while True:
            job = job_of(await line.call(poll))
            if job is not None:
                await line.call(worker.complete(*job))
                self.completed += 1


@dataclass
class Park:
    port: int
    workers: Sequence[SimulatedWorker]
    asked: int = 0
    all_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        lines = await open_lines(self.port, len(self.workers))
        tasks = [asyncio.create_task(self._wait(*each)) for each in zip(lines, self.workers, strict=True)]
        tasks.append(asyncio.create_task(self._beat(await open_lines(self.port, HEARTBEAT_LINES))))
        closed = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        await self.all_asked.wait()
        say({"parked": len(self.workers)})
        done, _ = await asyncio.wait([closed, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in done - {closed}:
            if (problem := task.exception()) is not None:
                traceback.print_exception(problem)
                sys.stderr.flush()
                os._exit(1)  # the thread that reads stdin would keep this process waiting for ever
        for task in tasks:
            task.cancel()

    async def _wait(self, line: Line, worker: SimulatedWorker) -> None:
        poll = worker.poll(wait_s=WAIT_S)
        # Workers were not all started in one moment: spread what they do over the interval.
        answer = line.call(poll)
        self.asked += 1
        if self.asked == len(self.workers):
            self.all_asked.set()
        while True:
            job = job_of(await answer)
            if job is not None:
                say({"leased": job[0].decode(), "at": time.monotonic()})
                await line.call(worker.complete(*job))
            answer = line.call(poll)

    async def _beat(self, lines: Sequence[Line]) -> None:
        """All workers', evenly spread, over a few connections: their own are busy waiting."""
        beats = [worker.heartbeat() for worker in self.workers]
        pause_s = HEARTBEAT_S / len(beats)
        due = time.perf_counter()
        while True:
            for number, beat in enumerate(beats):
                due += pause_s
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await lines[number % len(lines)].call(beat)


async def open_lines(port: int, count: int) -> list[Line]:
    lines: list[Line] = []
    while len(lines) < count:
        few = min(OPENING_AT_ONCE, count - len(lines))
        lines += await asyncio.gather(*(open_line(port) for _ in range(few)))
    return lines


async def _sleep_beside(tasks: Sequence[asyncio.Task[None]], seconds: float) -> None:
    """Sleep, but not on when a worker has failed."""
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


def say(facts: dict[str, Any]) -> None:
    print(json.dumps(facts), flush=True)


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    workers = [SimulatedWorker(*each) for each in order["workers"]]
    if order["mode"] == "drain":
        say(await Drain(order["port"], workers, order["seconds"]).run())
    else:
        await Park(order["port"], workers).run()


if __name__ == "__main__":
    uvloop.run(main())
