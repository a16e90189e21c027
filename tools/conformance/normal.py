"""Make what two servers said comparable: ids, times, counters, paths and random names set aside."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_TIMES = ("timestamp", "create_time", "execution_start_time", "execution_end_time", "modified", "created")
_TEMP = re.compile(r"_temp_[a-z]{5}_")
_UNORDERED = ("executed", "current_outputs", "dependent_outputs")
_COUNTERS = ("number", "priority")


@dataclass
class Side:
    """One of the two servers: its folder, and what it called each prompt: id and number."""

    root: str
    names: dict[str, str] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)

    def learn_number(self, number: float, name: str) -> None:
        if isinstance(number, int):
            self.numbers[number] = f"(number of {name}, {'front' if number < 0 else 'in turn'})"

    def normal(self, value: Any) -> Any:
        return self._walk(json.loads(self._text(json.dumps(value))), "")

    def _text(self, text: str) -> str:
        for spoken, name in self.names.items():
            text = text.replace(spoken, name)
        return _TEMP.sub("_temp_xxxxx_", text.replace(self.root, "/ComfyUI"))

    def _walk(self, value: Any, key: str) -> Any:
        if key in _TIMES:
            return "(time)"
        if key in _COUNTERS:
            return self._counter(value)
        if key in ("traceback",):
            return "(traceback)" if value else value
        if key == "prompt" and isinstance(value, list) and len(value) == 5:
            return [self._counter(value[0]), *(self._walk(each, "") for each in value[1:4]), sorted(value[4])]
        return self._walk_inside(value, key)

    def _walk_inside(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {name: self._walk(each, name) for name, each in value.items()}
        if isinstance(value, list):
            walked = [self._walk(each, "") for each in value]
            if key in ("queue_running", "queue_pending"):
                return [[self._counter(each[0]), *each[1:4], sorted(each[4])] for each in walked]
            return sorted(walked) if key in _UNORDERED else walked
        if isinstance(value, str) and value.startswith(("tensor(", "[[[[")):
            return "(tensor)"
        return value

    def _counter(self, number: Any) -> Any:
        return self.numbers.get(number, number) if isinstance(number, int) else number


def learn_together(recorded: Any, ours: Any, recorded_side: Side, own_side: Side) -> None:
    """Names that servers draw at random stand in equal places: temp files, made-up client ids."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in recorded.keys() & ours.keys():
            learn_together(recorded[key], ours[key], recorded_side, own_side)
    elif isinstance(recorded, list) and isinstance(ours, list):
        for left, right in zip(recorded, ours, strict=False):
            learn_together(left, right, recorded_side, own_side)
    elif isinstance(recorded, str) and isinstance(ours, str) and _TEMP.search(recorded) and _TEMP.search(ours):
        own_side.names.setdefault(ours, recorded)
