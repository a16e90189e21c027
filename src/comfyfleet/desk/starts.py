"""Which dispatches are known here to have begun: told to their tenants as best it goes, so never waited for.

Noted by whoever leases them, and again by whoever hears their first heartbeat: the replica that leased may have died
before it told anybody. Telling twice moves nothing.
"""

from comfyfleet.kernel.ids import DispatchId

NOTED_MAX = 10_000
KNOWN_MAX = 20_000


class Starts:
    def __init__(self) -> None:
        self._noted: dict[DispatchId, None] = {}
        self._known: dict[DispatchId, None] = {}

    def note(self, dispatch_id: DispatchId) -> None:
        """Once each, as long as it is remembered. Beyond the limit they are left untold: the job's end tells more."""
        if dispatch_id in self._known or len(self._noted) >= NOTED_MAX:
            return
        self._noted[dispatch_id] = self._known[dispatch_id] = None
        if len(self._known) > KNOWN_MAX:
            del self._known[next(iter(self._known))]

    def take(self, rows: int) -> list[DispatchId]:
        taken = list(self._noted)[:rows]
        for each in taken:
            del self._noted[each]
        return taken
