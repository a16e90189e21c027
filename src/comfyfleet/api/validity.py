"""Whether credentials of open streams still hold. Many streams of one credential share an answer."""

import time
from uuid import UUID

from comfyfleet.api.policy import is_still_valid
from comfyfleet.house import House
from comfyfleet.tenants import Caller

ANSWER_LASTS_S = 2.5
ANSWERS_MAX = 10_000


class Validity:
    def __init__(self) -> None:
        self._answers: dict[UUID, tuple[float, bool]] = {}

    async def ask(self, house: House, caller: Caller) -> bool:
        answer = self._answers.get(caller.credential)
        if answer is not None and time.monotonic() - answer[0] < ANSWER_LASTS_S:
            return answer[1]
        valid = await is_still_valid(house, caller)
        if len(self._answers) >= ANSWERS_MAX:
            self._answers.clear()
        self._answers[caller.credential] = (time.monotonic(), valid)
        return valid
