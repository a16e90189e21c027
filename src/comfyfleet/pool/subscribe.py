"""Handing events on. Nobody who listens slowly holds the pool up: the oldest events of a full listener are dropped."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias

import structlog

from comfyfleet.pool.events import EVENT_NAMES, LAST_EVENTS, PoolEvent

log = structlog.get_logger()

Where: TypeAlias = Callable[[PoolEvent], bool]
Told: TypeAlias = Callable[[PoolEvent], object]

BUFFER = 1024


class Subscription:
    """`async for event in subscription`. It hears what happens from its making on, and ends when the pool closes."""

    def __init__(
        self, feed: "Feed", *, names: frozenset[str], job_id: str | None, where: Where | None, buffer: int
    ) -> None:
        self.dropped_count = 0
        self._feed = feed
        self._names = names
        self._job_id = job_id
        self._where = where
        self._events: deque[PoolEvent] = deque(maxlen=buffer)
        self._arrived = asyncio.Event()
        self._ended = False

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> PoolEvent:
        while not self._events:
            if self._ended:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._events.popleft()

    async def __aenter__(self) -> "Subscription":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """What has arrived can still be read."""
        self._ended = True
        self._feed.leave(self)
        self._arrived.set()

    def wants(self, event: PoolEvent) -> bool:
        if event.name not in self._names:
            return False
        if self._job_id is not None and getattr(getattr(event, "job", None), "id", None) != self._job_id:
            return False
        return self._where is None or self._where(event)

    def take(self, event: PoolEvent) -> None:
        if len(self._events) == self._events.maxlen:
            self.dropped_count += 1
        self._events.append(event)
        self._arrived.set()
        if self._job_id is not None and isinstance(event, LAST_EVENTS):
            self.close()


class Feed:
    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._told: dict[str, list[Told]] = {}
        self._closed = False

    def subscribe(
        self,
        names: tuple[str, ...] = (),
        *,
        job_id: str | None = None,
        where: Where | None = None,
        buffer: int = BUFFER,
    ) -> Subscription:
        if buffer < 1:
            raise ValueError(f"buffer must be at least 1, got {buffer}")
        known = frozenset(_checked(name) for name in names) or EVENT_NAMES
        subscription = Subscription(self, names=known, job_id=job_id, where=where, buffer=buffer)
        self._subscriptions.append(subscription)
        if self._closed:
            subscription.close()
        return subscription

    def on(self, name: str, told: Told) -> Callable[[], None]:
        """Calls `told` for each event of that name; what it gives back stops that."""
        listeners = self._told.setdefault(_checked(name), [])
        listeners.append(told)

        def stop() -> None:
            if told in listeners:
                listeners.remove(told)

        return stop

    def tell(self, event: PoolEvent) -> None:
        for told in tuple(self._told.get(event.name, ())):
            _call(told, event)
        for subscription in tuple(self._subscriptions):
            if _call(subscription.wants, event):
                subscription.take(event)

    def leave(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def close(self) -> None:
        self._closed = True
        for subscription in tuple(self._subscriptions):
            subscription.close()


def _checked(name: str) -> str:
    if name not in EVENT_NAMES:
        raise ValueError(f"there is no event {name!r}; there are {', '.join(sorted(EVENT_NAMES))}")
    return name


def _call(told: Told, event: PoolEvent) -> object:
    """Somebody else's code: what it raises is logged and hurts no job."""
    try:
        return told(event)
    except Exception:
        log.exception("pool.listener_failed", event_name=event.name)
        return None
