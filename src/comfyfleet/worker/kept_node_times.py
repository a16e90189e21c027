"""How long nodes took, kept over a restart of the worker: one small file a workflow version, the oldest go.

Hints for a progress bar: what cannot be read or written is left out, and no job fails for it.
"""

import asyncio
import os
import re
from pathlib import Path

import msgspec
import structlog

from comfyfleet.comfy.model import Completed, Graph
from comfyfleet.comfy.node_times import NODES_MAX, WORKFLOWS_MAX, NodeTimes, Past, PastTime

NAME = re.compile("[0-9a-f]{16,64}")
FILE_BYTES_MAX = 256 * 1024

log = structlog.get_logger()
_decode = msgspec.json.Decoder(dict[str, PastTime]).decode


class KeptNodeTimes:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._times = NodeTimes()
        self.weights = self._times.weights

    async def open(self) -> None:
        for name, past in await asyncio.to_thread(self._read):
            self._times.keep(name, past)

    async def learn(self, structure_hash: str, graph: Graph, done: Completed) -> None:
        past = self._times.learn(structure_hash, graph, done)
        if past is not None and NAME.fullmatch(structure_hash):
            await asyncio.to_thread(self._write, structure_hash, past)

    def _read(self) -> list[tuple[str, Past]]:
        """The oldest first."""
        found: list[tuple[str, Past]] = []
        try:
            for path in _newest_last(self._folder):
                if (past := _past_of(path)) is not None:
                    found.append((path.stem, past))
        except OSError as problem:
            log.info("node_times.unreadable", problem=str(problem))
        return found

    def _write(self, name: str, past: Past) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path, fresh = self._folder / f"{name}.json", self._folder / f"{name}.new"
            is_another = not path.exists()
            fresh.write_bytes(msgspec.json.encode(past))
            os.replace(fresh, path)
            for old in _newest_last(self._folder)[:-WORKFLOWS_MAX] if is_another else ():
                old.unlink(missing_ok=True)
        except OSError as problem:
            log.info("node_times.not_kept", problem=str(problem))


def _newest_last(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime)


def _past_of(path: Path) -> Past | None:
    try:
        if path.stat().st_size > FILE_BYTES_MAX or not NAME.fullmatch(path.stem):
            return None
        past = _decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
    sound = all(0 <= each.seconds < float("inf") and each.runs >= 1 for each in past.values())
    return past if sound and len(past) <= NODES_MAX else None
