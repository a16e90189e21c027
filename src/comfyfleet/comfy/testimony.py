"""What a prompt's messages told of it, in the shape of a history entry: for when the history itself is gone."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from comfyfleet.comfy.messages import (
    Executed,
    ExecutionCached,
    ExecutionError,
    ExecutionInterrupted,
    ExecutionSuccess,
    Heard,
)
from comfyfleet.comfy.model import HistoryEntry, HistoryMessage

KEPT = {
    ExecutionCached: "execution_cached",
    ExecutionSuccess: "execution_success",
    ExecutionError: "execution_error",
    ExecutionInterrupted: "execution_interrupted",
}
ENDS = (ExecutionSuccess, ExecutionError, ExecutionInterrupted)


class Testimony:
    def __init__(self, prompt_id: str) -> None:
        self._prompt_id = prompt_id
        self._messages: list[HistoryMessage] = []
        self._outputs: dict[str, Mapping[str, Any]] = {}
        self._ended = False

    def hear(self, message: Heard) -> None:
        if isinstance(message, Executed) and message.output is not None:
            self._outputs[message.node] = message.output
        elif isinstance(message, (*ENDS, ExecutionCached)):
            self._messages.append(HistoryMessage(KEPT[type(message)], asdict(message)))
            self._ended = self._ended or isinstance(message, ENDS)

    def entry(self, *, all_done: bool = False) -> HistoryEntry | None:
        """None while no end was told. `all_done`: each node of the graph was told to be done, which is the same."""
        if self._ended:
            return HistoryEntry(self._prompt_id, None, None, tuple(self._messages), dict(self._outputs))
        if not all_done:
            return None
        success = HistoryMessage(KEPT[ExecutionSuccess], {})
        return HistoryEntry(self._prompt_id, None, None, (*self._messages, success), dict(self._outputs))
