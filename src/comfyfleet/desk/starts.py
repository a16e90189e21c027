"""Which dispatches are known here to have begun: told to their tenants as best it goes, so never waited for.

Noted by whoever leases them where they begin at once, else when the worker reports that its server has begun; and again
by whoever hears a later report: the replica that noted it may have died before it told anybody. Telling twice moves
nothing.
"""

import time
from collections.abc import Mapping

from comfyfleet.kernel.ids import DispatchId

NOTED_MAX = 10_000
KNOWN_MAX = 20_000


class Starts:
    def __init__(self) -> None:
        self._noted: dict[DispatchId, float | None] = {}
        self._known: dict[DispatchId, None] = {}

    def note(self, dispatch_id: DispatchId, *, just_now: bool = False) -> None:
        """Once each, as long as it is remembered. Beyond the limit they are left untold: the job's end tells more.
        `just_now`: it may have waited on its worker; else it began when it was leased."""
        if dispatch_id in self._known or len(self._noted) >= NOTED_MAX:
            return
        self._noted[dispatch_id] = time.monotonic() if just_now else None
        self._known[dispatch_id] = None
        if len(self._known) > KNOWN_MAX:
            del self._known[next(iter(self._known))]

    def take(self, rows: int) -> dict[DispatchId, float | None]:
        """With the monotonic time at which each began; None: when it was leased."""
        taken = {each: self._noted[each] for each in list(self._noted)[:rows]}
        for each in taken:
            del self._noted[each]
        return taken

    def put_back(self, untold: Mapping[DispatchId, float | None]) -> None:
        """Behind the others: a database that is away must not hold up those of another."""
        self._noted |= untold
