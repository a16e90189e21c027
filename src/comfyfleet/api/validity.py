"""Whether credentials of open streams still hold. Many streams of one credential share an answer."""

import asyncio
import time
from uuid import UUID

from comfyfleet.api.policy import is_still_valid
from comfyfleet.house import House
from comfyfleet.tenants import Caller

ANSWER_LASTS_S = 2.5
ANSWERS_MAX = 10_000


class Validity:
    def __init__(self) -> None:
        self._answers: dict[UUID, tuple[float, asyncio.Task[bool]]] = {}

    async def ask(self, house: House, caller: Caller) -> bool:
        asked = self._answers.get(caller.credential)
        if asked is None or time.monotonic() - asked[0] >= ANSWER_LASTS_S:
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            asked = (time.monotonic(), asyncio.create_task(is_still_valid(house, caller)))
            self._answers[caller.credential] = asked
        # Who goes away takes nobody else's answer along.
        return await asyncio.shield(asked[1])
