"""Tells the control plane what the servers' node classes are, once for each change of them."""

import asyncio
import random
from collections.abc import Callable

import structlog

from comfyfleet.comfy.graph import Definitions
from comfyfleet.kernel.errors import FleetError
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlClient

LOOK_S = 5.0
AGAIN_S = 1800.0  # so that what is in use counts as seen
LATER_S = 60.0
NOT_FOUND = 404

log = structlog.get_logger()


class DefinitionsReport:
    """`now`: as preflight packed them last; None: no server was seen, or it has more than can be sent."""

    def __init__(
        self, control: ControlClient, now: Callable[[], Definitions | None], *, look_s: float = LOOK_S
    ) -> None:
        self._control = control
        self._now = now
        self._look_s = look_s

    async def run(self) -> None:
        """Until it is cancelled, or the control plane turns out to be older than this. Never ends the worker."""
        told: str | None = None
        due = 0.0
        loop = asyncio.get_running_loop()
        while True:
            found = self._now()
            if found is not None and (found.digest != told or loop.time() >= due):
                outcome = await self._tell(found)
                if outcome is None:
                    return
                told = found.digest
                due = loop.time() + (AGAIN_S if outcome else LATER_S) * random.uniform(0.8, 1.2)  # noqa: S311
            await asyncio.sleep(self._look_s)

    async def _tell(self, found: Definitions) -> bool | None:
        """False: later. None: never."""
        said = wire.Definitions(worker_id=self._control.session.worker_id, digest=found.digest)
        try:
            if (await self._control.definitions(said)).wanted:
                said.gzip = found.packed
                await self._control.definitions(said)
                log.info("definitions.sent", digest=found.digest, size_bytes=len(found.packed))
        except CallRefused as refused:
            if refused.status == NOT_FOUND:
                return None
            log.warning("definitions.refused", problem=refused.message)
            return False
        except FleetError as problem:
            log.info("definitions.not_sent", problem=problem.message)
            return False
        return True
