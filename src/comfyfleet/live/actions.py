"""What operators did is noticed in the audit chain: so it holds for other replicas, and for the command line."""

from comfyfleet import audit
from comfyfleet.db import Database
from comfyfleet.live.hub import Hub
from comfyfleet.live.model import ACTIONS, OFFERS

# What users may order depends on these, and on no others.
OF_OFFERS = ("effect.", "workflow.", "fleet.", "worker.")


class Actions:
    def __init__(self, central: Database, hub: Hub) -> None:
        self._central, self._hub = central, hub
        self._seq: int | None = None

    async def look_if_wanted(self) -> None:
        if self._hub.has_readers(ACTIONS) or self._hub.has_readers(OFFERS):
            await self._look()

    async def _look(self) -> None:
        async with self._central.control_tx(read_only=True) as tx:
            seq, names = await audit.actions_since(tx, self._seq)
        # What the first reader's page showed may be older than the first look: nobody knows.
        is_first, self._seq = self._seq is None, seq
        if is_first or names:
            self._hub.hear_hint(ACTIONS)
        if is_first or any(name.startswith(OF_OFFERS) for name in names):
            self._hub.hear_hint(OFFERS)
