"""Stand-ins for nodes that need weights: what they describe is the real servers', what they compute is nothing. The
recordings interrupt, leave and rejoin a sampler in its course; this one waits where the recording's did."""

import io
import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Preview

POLL_S = 0.002


class Pace:
    """How many steps the sampler of a prompt may take by now; the replay moves it on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps_max: dict[str, float] = {}
        self._is_open = False

    def allow(self, prompt_id: str, steps_max: float) -> None:
        with self._lock:
            self._steps_max[prompt_id] = steps_max

    def open(self) -> None:
        with self._lock:
            self._is_open = True

    def shut(self) -> None:
        with self._lock:
            self._is_open = False

    def allows(self, prompt_id: str, step: int) -> bool:
        with self._lock:
            return self._is_open or step <= self._steps_max.get(prompt_id, 0)


class _StandIn(Node):
    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(*(object() for _ in self.outputs))


class _Decoder(_StandIn):
    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(np.full((1, 64, 64, 3), 0.5, dtype=np.float32))


class _Sampler(_StandIn):
    pace: Pace

    def run(self, inputs: Inputs, context: Context) -> Made:
        wants_preview = context.preview_method not in (None, "none")
        for step in range(1, inputs["steps"] + 1):
            while not self.pace.allows(context.prompt_id, step):
                context.check()
                time.sleep(POLL_S)
            context.step(step, inputs["steps"], _preview(step) if wants_preview else None)
        return Made(object())


def _preview(step: int) -> Preview:
    written = io.BytesIO()
    Image.new("RGB", (32, 32), (step % 256, 0, 0)).save(written, "JPEG")
    return Preview(written.getvalue())


def build_stand_ins(described: Path, pace: Pace) -> Iterable[Node]:
    known = json.loads(described.read_text())
    bases: dict[str, type[Node]] = {"KSampler": _Sampler, "VAEDecode": _Decoder}
    for name in ("CheckpointLoaderSimple", "CLIPTextEncode", "KSampler", "VAEDecode"):
        facts = known[name]
        made = type(name, (bases.get(name, _StandIn),), {**_class_facts(facts), "pace": pace})
        yield made()


def _class_facts(facts: dict[str, Any]) -> dict[str, Any]:
    specs = {part: {n: tuple(spec) for n, spec in named.items()} for part, named in facts["input"].items()}
    tooltips = facts.get("output_tooltips") or [None] * len(facts["output"])
    extra = {key: facts[key] for key in ("essentials_category", "deprecated", "experimental") if key in facts}
    return {
        "required": specs.get("required", {}),
        "optional": specs.get("optional", {}),
        "outputs": tuple(
            Output(kind, name, tooltip)
            for kind, name, tooltip in zip(facts["output"], facts["output_name"], tooltips, strict=True)
        ),
        "display_name": facts["display_name"],
        "description": facts["description"],
        "category": facts["category"],
        "python_module": facts["python_module"],
        "search_aliases": tuple(facts.get("search_aliases") or ()),
        "extra_facts": extra,
    }
