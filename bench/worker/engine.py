"""The server of the bench: the built-in engine as a process, with one node that takes its time without using any, and
a diary of what it executed. `python -m bench.worker.engine FOLDER DIARY FILE_BYTES`; says its address on stdout."""

import functools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TextIO

import uvloop

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.history import Entry
from comfyfleet.engine.node import Context, Inputs, Made, Node, Spec
from comfyfleet.engine.nodes.loading import uploaded_or_raise
from comfyfleet.engine.queue import PromptQueue, Queued
from comfyfleet.engine.server import build_server, listen

STEP_S = 0.1
TEMPLATE = "template.bin"


class BenchWork(Node):
    """Reads nothing and draws nothing: its output is a copy of a file, cut or stretched to the asked length."""

    display_name = "Bench Work"
    category = "bench"
    required: ClassVar[dict[str, Spec]] = {
        "file": ("STRING", {}),
        "seconds": ("FLOAT", {"default": 1.0, "min": 0.0, "max": 86400.0}),
        "bytes": ("INT", {"default": 1, "min": 1, "max": 2**40}),
        "seed": ("INT", {"default": 0, "min": 0, "max": 2**64 - 1}),
        "filename_prefix": ("STRING", {"default": "bench"}),
    }
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        uploaded_or_raise(context.folders, inputs["file"])
        began, steps = time.monotonic(), max(1, round(inputs["seconds"] / STEP_S))
        for step in range(1, steps + 1):
            time.sleep(max(0.0, began + inputs["seconds"] * step / steps - time.monotonic()))
            context.step(step, steps)
        place = context.folders.place_for(inputs["filename_prefix"])
        name = place.name("png")
        shutil.copyfile(context.folders.root / TEMPLATE, place.folder / name)
        os.truncate(place.folder / name, inputs["bytes"])
        return Made(ui={"images": [{"filename": name, "subfolder": place.subfolder, "type": "output"}]})


class Diary:
    """A line for each prompt that was executed: when it came, when it began, when it ended."""

    def __init__(self, queue: PromptQueue, written: TextIO, *, now: Callable[[], float] = time.time) -> None:
        self._written, self._now = written, now
        self._posted: dict[str, float] = {}
        self._began: tuple[str, float] | None = None
        queue.put = functools.partial(self._put, queue.put)  # type: ignore[method-assign]
        queue.take = functools.partial(self._take, queue.take)  # type: ignore[method-assign]
        queue.finish = functools.partial(self._finish, queue.finish)  # type: ignore[method-assign]

    def _put(self, put: Callable[[Queued], None], queued: Queued) -> None:
        self._posted[queued.prompt_id] = self._now()
        put(queued)

    def _take(self, take: Callable[[], Queued | None]) -> Queued | None:
        queued = take()
        if queued is not None:
            self._began = queued.prompt_id, self._now()
        return queued

    def _finish(self, finish: Callable[[Entry | None], None], entry: Entry | None) -> None:
        ended = self._now()
        finish(entry)
        if self._began is not None:
            prompt_id, began = self._began
            self._write(prompt_id=prompt_id, posted=self._posted.pop(prompt_id, began), began=began, ended=ended)

    def _write(self, **line: Any) -> None:
        self._written.write(json.dumps(line) + "\n")
        self._written.flush()


def main(folder: Path, diary: Path, file_bytes: int) -> None:
    engine = Engine(folder, nodes=[BenchWork()])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TEMPLATE).write_bytes(os.urandom(file_bytes))
    listener = listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    with diary.open("a") as written:
        Diary(engine.queue, written)
        uvloop.run(build_server(engine).serve(sockets=[listener]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
