"""The engine without its routes: folders, queue, history, cache, sockets, and the thread that runs prompts."""

import asyncio
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

from comfyfleet.engine.cache import Cache
from comfyfleet.engine.execute import Executor
from comfyfleet.engine.faults import FaultBoard, FaultOrder
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.history import History
from comfyfleet.engine.messages import SEND_WITHIN_S, Hub
from comfyfleet.engine.node import Node
from comfyfleet.engine.queue import PromptQueue
from comfyfleet.engine.registry import Registry
from comfyfleet.engine.run_prompt import Now, Workshop

STOP_WITHIN_S = 5.0


class Engine:
    def __init__(
        self,
        folder: Path,
        *,
        nodes: Iterable[Node] | None = None,
        may_die: bool = False,
        send_within_s: float = SEND_WITHIN_S,
    ) -> None:
        self.folders = Folders(folder.resolve())
        self.registry = Registry(_all_nodes() if nodes is None else nodes)
        self.hub = Hub(send_within_s=send_within_s)
        self.board = FaultBoard()
        self.history = History()
        self.queue = PromptQueue(self.history, changed=self._tell_status)
        self.now = Now()
        self._executor = Executor(
            Workshop(
                queue=self.queue,
                registry=self.registry,
                folders=self.folders,
                hub=self.hub,
                board=self.board,
                cache=Cache(),
                now=self.now,
                may_die=may_die,
            )
        )
        self._number = 0
        self._lock = threading.Lock()

    async def start(self) -> None:
        """Temporary files of an earlier life go, as on the real server."""
        shutil.rmtree(self.folders.temp, ignore_errors=True)
        self.folders.make()
        self.hub.start()
        self._executor.start()

    async def stop(self) -> None:
        """What runs is told to end; what waits is forgotten."""
        self.queue.close()
        self.board.set(FaultOrder())
        await asyncio.to_thread(self._executor.join, STOP_WITHIN_S)
        await self.hub.stop()

    def next_number(self) -> int:
        """Each prompt that does not bring a number spends one, refused ones too."""
        with self._lock:
            number, self._number = self._number, self._number + 1
            return number

    def exec_facts(self) -> dict[str, dict[str, int]]:
        return {"exec_info": {"queue_remaining": self.queue.remaining()}}

    def _tell_status(self) -> None:
        self.hub.send("status", {"status": self.exec_facts()})


def _all_nodes() -> Iterable[Node]:
    from comfyfleet.engine.nodes import NODES  # pictures and films load only where they are made

    return NODES
