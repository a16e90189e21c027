"""A real server with an effect, somebody who may order it, and a worker that can be held up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.seed_sequence import Api, SimulatedWorker, Stage, negative, picture, set_the_stage

from tests.server import ServerProcess, server_process

PHOTO = picture()
NEGATIVE = negative(PHOTO)
WITHIN_S = 60.0


class PacedWorker(SimulatedWorker):
    """Reports a step whenever it is let go on by one."""

    def __init__(self, url: str, stage: Stage, *, steps: int = 4, paced: bool = False, jobs: int = 1) -> None:
        super().__init__(url, stage, jobs=jobs)
        self.steps, self._go_on = steps, threading.Semaphore(0 if paced else 10_000)
        self.began = threading.Event()

    def make(self, photo: bytes, payload: dict[str, Any], lease: dict[str, str]) -> bytes:
        self.began.set()
        for step in range(1, self.steps + 1):
            assert self._go_on.acquire(timeout=WITHIN_S)
            data = {"value": step, "max": self.steps, "node": payload["properties"].get("title", "2")}
            self._say("events", events=[{"kind": "progress", **lease, "data": data}])
        return negative(photo)

    def tell(self, words: str) -> None:
        """Nobody listens here."""

    def go_on(self, steps: int = 10_000) -> None:
        self._go_on.release(steps)


@dataclass(frozen=True)
class Fleet:
    server: ServerProcess
    stage: Stage

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def key(self) -> str:
        return self.stage.user_key

    @property
    def effect(self) -> str:
        return self.stage.effect

    def another(self, *, credit: int) -> Stage:
        operator = Api(self.url, **self.server.operator)
        try:
            return set_the_stage(self.url, operator, credit=credit)
        finally:
            operator.close()

    @contextmanager
    def worker(self, **given: Any) -> Iterator[PacedWorker]:
        worker = PacedWorker(self.url, self.stage, **given)
        worker.start()
        try:
            yield worker
        finally:
            worker.go_on()
            worker.stop()


@contextmanager
def a_fleet(folder: Path) -> Iterator[Fleet]:
    limits = {"REGISTRATIONS_PER_MINUTE": "1000", "LOGINS_PER_MINUTE": "1000"}
    with server_process(folder, **limits) as server:
        operator = Api(server.url, **server.operator)
        stage = set_the_stage(server.url, operator, credit=10_000)
        operator.close()
        yield Fleet(server, stage)
