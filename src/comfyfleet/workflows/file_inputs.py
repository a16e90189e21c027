"""By which inputs nodes open files, as all workers' definitions say: for orders, so kept in memory.

A workflow may be registered before any worker has reported what its nodes are.
"""

import asyncio
import time

import structlog

from comfyfleet.kernel.errors import FleetError
from comfyfleet.storage import ObjectStore
from comfyfleet.workflows.check_files import FileInputs, list_file_inputs
from comfyfleet.workflows.definitions import ControlTxs, list_known, read_definitions

EVERY_S = 60.0

log = structlog.get_logger()


class ReportedFileInputs:
    """Of one control plane. Definitions never change under their digest, so each is read once."""

    def __init__(self) -> None:
        self._found: FileInputs = {}
        self._by_digest: dict[str, FileInputs] = {}
        self._fresh_until = 0.0
        self._asking = asyncio.Lock()

    async def read(self, store: ObjectStore, control_tx: ControlTxs) -> FileInputs:
        if time.monotonic() < self._fresh_until:
            return self._found
        async with self._asking:
            if time.monotonic() >= self._fresh_until:
                await self._ask(store, control_tx)
                self._fresh_until = time.monotonic() + EVERY_S
        return self._found

    async def _ask(self, store: ObjectStore, control_tx: ControlTxs) -> None:
        try:
            known = await list_known(control_tx)
            for each in known:
                if each.digest not in self._by_digest:
                    object_info = await read_definitions(store, control_tx, each)
                    if object_info is not None:
                        found = await asyncio.to_thread(list_file_inputs, [object_info])
                        self._by_digest[each.digest] = found
        except FleetError as problem:
            log.warning("workflows.file_inputs_unknown", problem=problem.message)
            return
        self._by_digest = {
            each.digest: self._by_digest[each.digest] for each in known if each.digest in self._by_digest
        }
        self._found = _joined(list(self._by_digest.values()))


def _joined(found: list[FileInputs]) -> FileInputs:
    names = {name for each in found for name in each}
    return {name: frozenset().union(*(each.get(name, ()) for each in found)) for name in names}
