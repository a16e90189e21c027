"""Which dispatches were leased here of late: told to their tenants as best it goes, so never waited for."""

from comfyfleet.kernel.ids import DispatchId

NOTED_MAX = 10_000


class Starts:
    def __init__(self) -> None:
        self._noted: dict[DispatchId, None] = {}

    def note(self, dispatch_id: DispatchId) -> None:
        """Beyond the limit they are left untold: the job's end tells more."""
        if len(self._noted) < NOTED_MAX:
            self._noted[dispatch_id] = None

    def take(self, rows: int) -> list[DispatchId]:
        taken = list(self._noted)[:rows]
        for each in taken:
            del self._noted[each]
        return taken
