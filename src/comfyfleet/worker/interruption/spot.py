"""A Spot instance is told two minutes before it is taken, and perhaps earlier that this is likely."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from comfyfleet.worker.interruption.metadata import Metadata, MetadataUnavailable
from comfyfleet.worker.interruption.model import Notice

EVERY_S = 5.0
ACTION_PATH = "meta-data/spot/instance-action"
REBALANCE_PATH = "meta-data/events/recommendations/rebalance"
# What AWS promises, and what we keep of it for signing off.
NOTICE_S = 120.0
SPARE_S = 10.0

log = structlog.get_logger()


def read_action(text: str | None, *, now: datetime) -> Notice | None:
    """The time is the machine's word and the clock may be off: never more than AWS promises, never less than none."""
    said = _object(text)
    action = said.get("action")
    if action not in ("terminate", "stop", "hibernate"):
        return None
    reason = f"spot_{action}"
    if action == "hibernate":
        return Notice(reason, seconds_left=0.0)  # it begins with the notice
    try:
        at = datetime.fromisoformat(str(said.get("time")))
        left_s = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    except ValueError:
        left_s = NOTICE_S
    return Notice(reason, seconds_left=max(0.0, min(left_s, NOTICE_S) - SPARE_S))


def read_rebalance(text: str | None) -> Notice | None:
    """Nobody presses yet: what runs may end, and nothing new begins."""
    return Notice("rebalance_recommendation") if "noticeTime" in _object(text) else None


def _object(text: str | None) -> dict[str, Any]:
    """Empty for nothing, and for what is no such answer: a page of a proxy must not stop a worker."""
    try:
        found = msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        log.warning("spot.garbage", answer=(text or "")[:200])
        return {}
    return found if isinstance(found, dict) else {}


class SpotWatch:
    def __init__(self, metadata: Metadata, tell: Callable[[Notice], None], *, every_s: float = EVERY_S) -> None:
        self._metadata = metadata
        self._tell = tell
        self._every_s = every_s
        self._told: set[str] = set()
        self._reachable = True

    async def run(self) -> None:
        """Until it is cancelled, or the instance is about to be taken: there is nothing more to hear then."""
        while not any(reason.startswith("spot_") for reason in self._told):
            await self.tick()
            await asyncio.sleep(self._every_s)

    async def tick(self) -> None:
        try:
            action = read_action(await self._metadata.read(ACTION_PATH), now=datetime.now(UTC))
            rebalance = read_rebalance(await self._metadata.read(REBALANCE_PATH)) if action is None else None
        except MetadataUnavailable as problem:
            self._note_reach(False, problem.message)
            return
        self._note_reach(True)
        notice = action or rebalance
        if notice is not None and notice.reason not in self._told:
            self._told.add(notice.reason)
            log.warning("worker.interruption", reason=notice.reason, seconds_left=notice.seconds_left)
            self._tell(notice)

    def _note_reach(self, reachable: bool, problem: str | None = None) -> None:
        if reachable != self._reachable:
            self._reachable = reachable
            log.info("spot.metadata_back") if reachable else log.warning("spot.metadata_away", problem=problem)
