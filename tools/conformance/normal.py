"""Make what two servers said comparable: ids, times, counters, paths and random names set aside."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_TIMES = ("timestamp", "create_time", "execution_start_time", "execution_end_time", "modified", "created")
_TEMP = re.compile(r"_temp_[a-z]{5}_\d{5}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?![-\w])")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_UNORDERED = ("executed", "current_outputs", "dependent_outputs")
_COUNTERS = ("number", "priority")


@dataclass
class Side:
    """One of the two servers: its folder, and what it called each prompt: id and number."""

    above: str  # the folder that holds comfy/ComfyUI
    names: dict[str, str] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)

    def learn_number(self, number: float, name: str) -> None:
        if isinstance(number, int):
            self.numbers[number] = f"(number of {name}, {'front' if number < 0 else 'in turn'})"

    def normal(self, value: Any) -> Any:
        return self._walk(json.loads(self._text(json.dumps(value))), "")

    def renamed(self, value: Any) -> Any:
        text = json.dumps(value)
        for spoken in {each for each in _UUID.findall(text) if each in self.names}:
            text = text.replace(spoken, self.names[spoken])
        return json.loads(text)

    def _text(self, text: str) -> str:
        text = json.dumps(self.renamed(json.loads(text)))
        if self.above:
            text = text.replace(f"{self.above}/comfy/ComfyUI", "/ComfyUI").replace(self.above, "")
        return _DATE.sub("(date)", _TEMP.sub("_temp_xxxxx_00000", text))

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


def same_files(recorded: Any, ours: Any) -> Iterator[tuple[str, str]]:
    """Names of temporary files are drawn at random; they stand in equal places."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in recorded.keys() & ours.keys():
            yield from same_files(recorded[key], ours[key])
    elif isinstance(recorded, list) and isinstance(ours, list):
        for left, right in zip(recorded, ours, strict=False):
            yield from same_files(left, right)
    elif isinstance(recorded, str) and isinstance(ours, str) and _TEMP.search(recorded) and _TEMP.search(ours):
        yield recorded, ours
