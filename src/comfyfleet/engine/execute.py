"""Take prompts from the queue and run them, one at a time, in a thread of their own."""

import threading

import structlog

from comfyfleet.engine.queue import Queued
from comfyfleet.engine.run_prompt import PromptRun, Workshop
from comfyfleet.engine.telling import Telling

log = structlog.get_logger()


class Executor:
    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._thread = threading.Thread(target=self._loop, name="engine-executor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, within_s: float) -> None:
        self._thread.join(within_s)

    def _loop(self) -> None:
        while not self._shop.queue.closed:
            queued = self._shop.queue.take()
            if queued is not None:
                self._run(queued)
            if self._shop.queue.take_free():
                self._shop.cache.clear()

    def _run(self, queued: Queued) -> None:
        client_id = queued.extra_data.get("client_id")
        faults = queued.faults
        telling = Telling(self._shop.hub, queued.prompt_id, client_id, faults)
        self._shop.now.client_id = client_id
        entry = PromptRun(self._shop, queued, faults, telling).run()
        self._shop.now.node_id = None
        if faults.delay_history_s:
            self._shop.board.released.wait(faults.delay_history_s)
        self._shop.queue.finish(None if faults.forget_history else entry)
        telling.over()
        queued.over.set()
