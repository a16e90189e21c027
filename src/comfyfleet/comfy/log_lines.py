"""Whose a line of a server's log is: the prompt's that ran when it was written. Pure.

The server sends lines in batches, up to half a second late, to all who asked for them. A line says when it was
written, by the server's local clock; the messages of a prompt say when it began and ended, by the same clock.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime

from comfyfleet.comfy.messages import (
    ExecutionError,
    ExecutionInterrupted,
    ExecutionStart,
    ExecutionSuccess,
    LogEntry,
    Message,
)

LINE_CHARS_MAX = 500
PROMPTS_MAX = 100
ZONE_STEP_S = 900.0  # time zones differ by quarters of an hour
AFTER_END_S = 1.0  # for the line that sums a prompt up
_SUMMARY = "Prompt executed in "
_ENDS = (ExecutionSuccess, ExecutionError, ExecutionInterrupted)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROGRESS_BAR = re.compile(r"\d+%\|")


@dataclass(slots=True)
class _Ran:
    began_s: float
    ended_s: float | None = None


class LogLines:
    def __init__(self) -> None:
        self._ran: OrderedDict[str, _Ran] = OrderedDict()

    def note(self, message: Message) -> None:
        """Of our own prompts only: nobody is told of others'."""
        timestamp = getattr(message, "timestamp", None)
        if timestamp is None:
            return
        if isinstance(message, ExecutionStart):
            self._ran[message.prompt_id] = _Ran(timestamp / 1000)
            while len(self._ran) > PROMPTS_MAX:
                self._ran.popitem(last=False)
        elif isinstance(message, _ENDS) and (ran := self._ran.get(message.prompt_id)):
            ran.ended_s = timestamp / 1000

    def owner_of(self, entry: LogEntry, *, now_s: float) -> str | None:
        """The prompt. None: it was written while none of ours ran."""
        at_s = _written_at(entry, now_s=now_s)
        if at_s is None:
            return None
        for prompt_id, ran in reversed(self._ran.items()):
            if ran.began_s <= at_s:
                late_s = AFTER_END_S if _SUMMARY in entry.m else 0.0
                return prompt_id if ran.ended_s is None or at_s <= ran.ended_s + late_s else None
        return None


def clean_lines(text: str) -> list[str]:
    """For people: without colours, and without the bars that a terminal would draw over."""
    found = []
    for line in _COLOURS.sub("", text).splitlines():
        shown = "".join(character for character in line if character.isprintable()).strip()
        if shown and not _PROGRESS_BAR.search(shown):
            found.append(shown[:LINE_CHARS_MAX])
    return found


def _written_at(entry: LogEntry, *, now_s: float) -> float | None:
    """Seconds since 1970. The line names no time zone, but it was written a moment ago."""
    try:
        at_s = datetime.fromisoformat(entry.t).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return at_s - round((at_s - now_s) / ZONE_STEP_S) * ZONE_STEP_S
