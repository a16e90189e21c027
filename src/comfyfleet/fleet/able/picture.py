"""Which workflows can be run, remembered for a moment: an order costs no query for it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from comfyfleet.db import ControlTx
from comfyfleet.fleet.able.availability import read_availability
from comfyfleet.fleet.able.model import Availability
from comfyfleet.fleet.model import FleetRules
from comfyfleet.fleet.needs import CapabilityBook
from comfyfleet.kernel.ids import WorkflowId

FRESH_S = 2.0
KNOWN_MAX = 5_000

Asked = Mapping[WorkflowId, int]  # with the version in force


@dataclass(slots=True)
class _Known:
    availability: Availability
    until: float


class AvailabilityPicture:
    """What registers, leaves or is assigned at this replica, or is announced by another, empties it."""

    def __init__(self, book: CapabilityBook) -> None:
        self._book = book
        self._known: dict[tuple[WorkflowId, int], _Known] = {}
        self._changes = 0

    def forget(self) -> None:
        self._known.clear()
        self._changes += 1

    async def read(self, tx: ControlTx, asked: Asked, *, rules: FleetRules) -> dict[WorkflowId, Availability]:
        """Only what can be run is remembered: a worker may have come this instant, at another replica."""
        now = time.monotonic()
        known = {key: found for key in asked.items() if (found := self._known.get(key)) and found.until > now}
        missing = dict(asked.items() - known.keys())
        fresh = await self._read_again(tx, missing, rules=rules) if missing else {}
        return {**{key[0]: found.availability for key, found in known.items()}, **fresh}

    async def _read_again(self, tx: ControlTx, asked: Asked, *, rules: FleetRules) -> dict[WorkflowId, Availability]:
        if len(self._known) > KNOWN_MAX:
            self._known.clear()
        before = self._changes
        for key in asked.items() & self._known.keys():
            # One caller reads; those who come meanwhile go by what was known.
            self._known[key].until = time.monotonic() + FRESH_S
        fresh = await read_availability(tx, list(asked), rules=rules, book=self._book)
        for each, version in asked.items():
            self._known.pop((each, version), None)
            # What changed while the rows were read may not be among them.
            if fresh[each].can_run and before == self._changes:
                self._known[each, version] = _Known(fresh[each], time.monotonic() + FRESH_S)
        return fresh
