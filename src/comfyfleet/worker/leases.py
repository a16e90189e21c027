"""The lease book: what this worker holds. Jobs write in it; the heartbeat's thread reads it, and tells what it hears.

A lease is in the book from the moment the journal has it until its ending was heard.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from comfyfleet.wire import worker_v1 as wire

NODE_CHARS_MAX = 200


class Word(StrEnum):
    """What a heartbeat's reply may say of a lease."""

    LOST = "lost"
    CANCEL = "cancel"
    GIVE_BACK = "give_back"


@dataclass(frozen=True, slots=True)
class FreshUrls:
    """Of inputs, by the asset's name."""

    urls: dict[str, str]
    life_s: float


@dataclass(frozen=True, slots=True)
class Held:
    """`urls_end_at`: when the URLs of inputs that are still to be fetched end; None: all are here. `submitted_at` and
    `checked_at`: when the server was sent the prompt, and last asked about it."""

    dispatch_id: UUID
    lease_token: str
    prompt_id: str | None = None
    status: str = "leased"
    ahead: bool = False
    progress: float | None = None
    node: str | None = None
    urls_end_at: float | None = None
    submitted_at: float | None = None
    checked_at: float | None = None

    def __repr__(self) -> str:
        return f"Held({self.dispatch_id})"

    def as_wire(self, *, now: float) -> wire.HeldLease:
        return wire.HeldLease(
            dispatch_id=self.dispatch_id,
            lease_token=self.lease_token,
            provider_job_id=self.prompt_id,
            service_status=self.status,
            ahead=self.ahead,
            progress=self.progress,
            node=self.node[:NODE_CHARS_MAX] if self.node else None,
            input_url_seconds=None if self.urls_end_at is None else max(0.0, self.urls_end_at - now),
            submitted_seconds=None if self.submitted_at is None else max(0.0, now - self.submitted_at),
            checked_seconds=None if self.checked_at is None else max(0.0, now - self.checked_at),
        )


Tell = Callable[[Word | FreshUrls], None]


class LeaseBook:
    """Safe from any thread."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._changed = threading.Condition()
        self._held: dict[UUID, Held] = {}
        self._tells: dict[UUID, Tell] = {}
        self._urgent = False
        self._closed = False
        self._loop_turned_at = now()
        self.load = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, dispatch_id: UUID) -> bool:
        return dispatch_id in self._held

    def hold(self, held: Held, tell: Tell) -> None:
        """Its first heartbeat goes out at once. `tell` is called on the heartbeat's thread."""
        with self._changed:
            self._held[held.dispatch_id] = held
            self._tells[held.dispatch_id] = tell
            self._urgent = True
            self._changed.notify_all()

    def note(self, dispatch_id: UUID, **said: Any) -> None:
        """For the next heartbeat to say."""
        with self._changed:
            if held := self._held.get(dispatch_id):
                self._held[dispatch_id] = replace(held, **said)

    def want_urls(self, dispatch_id: UUID) -> None:
        """Those we have no longer work: at once, not with the next heartbeat."""
        self.note(dispatch_id, urls_end_at=self._now())
        self.hurry()

    def hurry(self) -> None:
        """The next heartbeat goes out now: there is something to tell."""
        with self._changed:
            self._urgent = True
            self._changed.notify_all()

    def submitted(self, dispatch_id: UUID, *, ago_s: float = 0.0) -> None:
        """Its server was sent the prompt: a heartbeat says so at once."""
        self.note(dispatch_id, submitted_at=self._now() - ago_s)
        self.hurry()

    def checked(self, dispatch_id: UUID, *, ago_s: float = 0.0) -> None:
        """Its server answered what became of the prompt."""
        self.note(dispatch_id, checked_at=self._now() - ago_s)

    def times_of(self, dispatch_id: UUID) -> tuple[float | None, float | None]:
        """How long ago its server was sent the prompt, and last asked about it."""
        now, held = self._now(), self._held.get(dispatch_id)
        if held is None:
            return None, None
        said = held.as_wire(now=now)
        return said.submitted_seconds, said.checked_seconds

    def say(self) -> list[wire.HeldLease]:
        now = self._now()
        return [each.as_wire(now=now) for each in self.held()]

    def mark_ahead(self, ahead: Collection[UUID]) -> None:
        with self._changed:
            for dispatch_id, held in self._held.items():
                if held.ahead is not (dispatch_id in ahead):
                    self._held[dispatch_id] = replace(held, ahead=dispatch_id in ahead)

    def return_lease(self, dispatch_id: UUID) -> None:
        with self._changed:
            self._held.pop(dispatch_id, None)
            self._tells.pop(dispatch_id, None)
            self._changed.notify_all()

    def held(self) -> tuple[Held, ...]:
        with self._changed:
            return tuple(self._held.values())

    def tell(self, dispatch_id: UUID, word: Word | FreshUrls) -> None:
        with self._changed:
            tell = self._tells.get(dispatch_id)
        if tell is not None:
            tell(word)

    # ── the two that watch each other ──

    def loop_turned(self) -> None:
        self._loop_turned_at = self._now()

    @property
    def loop_age_s(self) -> float:
        return max(0.0, self._now() - self._loop_turned_at)

    def wait(self, seconds: float) -> bool:
        """Until that time is over, a lease came, or the book is closed. False: it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._urgent or self._closed, timeout=seconds)
            self._urgent = False
            return not self._closed

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
