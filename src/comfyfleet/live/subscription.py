"""One reader's mailbox. A reader that is too slow loses previews first, then the oldest events, and is told so."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from uuid import UUID

from comfyfleet.live.model import Event, JobState

PENDING_MAX = 256
PENDING_BYTES_MAX = 512 * 1024
PREVIEWS_MAX = 16


class Subscription:
    def __init__(
        self,
        *,
        previews: bool = True,
        kinds: frozenset[str] | None = None,
        home: UUID | None = None,
        notices: Mapping[UUID, str] | None = None,
    ) -> None:
        """`kinds`: None for all of them. `home`: the topic whose hints say that there is more to listen to.
        `notices`: topics whose hints are passed on as they are, and by what name.

        `runs`: topics whose hints are kept, for the reader to look at them.
        """
        self._previews, self._kinds, self._home = previews, kinds, home
        self.notices = notices or {}
        self._noticed: dict[str, None] = {}
        self._events: deque[Event] = deque()
        self._events_bytes = 0
        self._latest_previews: dict[UUID, Event] = {}
        self._states: dict[UUID, JobState] = {}
        self._woken = asyncio.Event()
        self.topics: set[UUID] = set()
        self.lost = 0
        self.hinted = False
        self.runs: set[UUID] = set()
        self.hinted_runs: set[UUID] = set()
        self.closed = False

    def put(self, event: Event) -> None:
        if event.is_preview:
            if self._previews:
                self._latest_previews.pop(event.topic, None)  # the latest stands last
                self._latest_previews[event.topic] = event
                if len(self._latest_previews) > PREVIEWS_MAX:
                    del self._latest_previews[next(iter(self._latest_previews))]
                self._woken.set()
            return
        if self._kinds is not None and event.kind not in self._kinds:
            return
        self._events.append(event)
        self._events_bytes += len(event.data)
        while len(self._events) > PENDING_MAX or self._events_bytes > PENDING_BYTES_MAX:
            self._latest_previews.clear()
            self._events_bytes -= len(self._events.popleft().data)
            self.lost += 1
        self._woken.set()

    def put_state(self, state: JobState) -> None:
        self._states[state.job_id] = state
        self._woken.set()

    def hint(self, topic: UUID) -> None:
        if topic == self._home:
            self.hinted = True
            self._woken.set()
        elif topic in self.runs:
            self.hinted_runs.add(topic)
            self._woken.set()
        elif topic in self.notices:
            self._noticed[self.notices[topic]] = None
            self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self.closed = True
        self._woken.set()

    def take_events(self) -> Iterator[Event]:
        """One at a time, as the reader goes: what comes meanwhile finds the mailbox emptier. Not for ever: other things
        are to be told too."""
        for _ in range(PENDING_MAX):
            if self._events:
                event = self._events.popleft()
                self._events_bytes -= len(event.data)
                yield event
            elif self._latest_previews:
                yield self._latest_previews.pop(next(iter(self._latest_previews)))
            else:
                return
        self._woken.set()

    def take_states(self) -> list[JobState]:
        states, self._states = list(self._states.values()), {}
        return states

    def take_notices(self) -> list[str]:
        noticed, self._noticed = list(self._noticed), {}
        return noticed

    @property
    def is_noticed(self) -> bool:
        return bool(self._noticed)

    def take_lost(self) -> int:
        lost, self.lost = self.lost, 0
        return lost

    def forget(self, topic: UUID) -> None:
        self._latest_previews.pop(topic, None)
        self._states.pop(topic, None)

    def clear_events(self) -> None:
        self._events.clear()
        self._events_bytes = 0
        self._latest_previews.clear()
        self.lost = 0

    async def wait(self, *, within_s: float) -> None:
        """Until there is something, or the time is over."""
        try:
            async with asyncio.timeout(within_s):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()
