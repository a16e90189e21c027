"""What became of the prompts that ran: in memory, the last ten thousand."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ENTRIES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    prompt: list[Any]
    outputs: Mapping[str, Any]
    status_str: str
    completed: bool
    messages: tuple[tuple[str, dict[str, Any]], ...]
    meta: Mapping[str, Any]

    @property
    def prompt_id(self) -> str:
        return str(self.prompt[1])

    def as_listed(self) -> dict[str, Any]:
        messages = [list(message) for message in self.messages]
        return {
            "prompt": self.prompt,
            "outputs": self.outputs,
            "status": {"status_str": self.status_str, "completed": self.completed, "messages": messages},
            "meta": self.meta,
        }


class History:
    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        self._entries: dict[str, Entry] = {}
        self._entries_max = entries_max
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        with self._lock:
            if len(self._entries) > self._entries_max:
                del self._entries[next(iter(self._entries))]
            self._entries[entry.prompt_id] = entry

    def get(self, prompt_id: str) -> Entry | None:
        return self._entries.get(prompt_id)

    def all(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())

    def page(self, entries_max: int | None, offset: int) -> list[Entry]:
        """Oldest first. A negative offset with a limit means the last ones."""
        entries = self.all()
        if offset < 0:
            offset = max(0, len(entries) - entries_max) if entries_max is not None else 0
        return entries[offset : None if entries_max is None else offset + entries_max]

    def delete(self, prompt_id: str) -> None:
        with self._lock:
            self._entries.pop(prompt_id, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
