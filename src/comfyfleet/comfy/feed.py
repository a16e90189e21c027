"""What is heard about one prompt, waiting for its watcher. The socket is always drained, so this is where a slow
watcher's messages wait, and they must not grow without end."""

import asyncio
from collections import deque
from collections.abc import Callable

from comfyfleet.comfy.messages import Heard, PreviewImage, ProgressState, ProgressStep, Reconnected, Status

FEED_MESSAGES_MAX = 4096
# Each tells the whole state: whoever is behind needs only the newest.
NEWEST_ONLY = frozenset({ProgressState, ProgressStep, PreviewImage, Status})


class Feed:
    def __init__(self, prompt_id: str, *, on_close: Callable[["Feed"], None] = lambda feed: None) -> None:
        self.prompt_id = prompt_id
        self._on_close = on_close
        self._cells: deque[list[Heard]] = deque()
        self._newest: dict[type, list[Heard]] = {}
        self._news = asyncio.Event()

    def put(self, heard: Heard) -> None:
        if len(self._cells) >= FEED_MESSAGES_MAX:
            self._make_room()
        cell = [heard]
        if type(heard) in NEWEST_ONLY:
            self._newest.get(type(heard), []).clear()
            self._newest[type(heard)] = cell
        self._cells.append(cell)
        self._news.set()

    def _make_room(self) -> None:
        self._cells = deque(cell for cell in self._cells if cell)
        if len(self._cells) >= FEED_MESSAGES_MAX // 2:
            # Nobody has read for very long. The watcher must look for itself, as after any other loss.
            self._cells.clear()
            self._newest.clear()
            self._cells.append([Reconnected()])

    async def receive(self) -> Heard:
        """The next message, waiting for it if need be. May be cancelled without losing any."""
        while True:
            while self._cells:
                if cell := self._cells.popleft():
                    return cell[0]
            self._news.clear()
            await self._news.wait()

    def close(self) -> None:
        self._on_close(self)
        self._cells.clear()
        self._newest.clear()
