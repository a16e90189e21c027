"""One prompt from its first message to its entry in history."""

import os
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from comfyfleet.engine.cache import Cache, Kept
from comfyfleet.engine.faults import OUT_OF_MEMORY_TIPS, FaultBoard, OutOfMemory, PromptFaults, raise_ordered
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.history import Entry
from comfyfleet.engine.inputs import gather_inputs, run_over_lists, shown
from comfyfleet.engine.messages import Hub
from comfyfleet.engine.node import Context, Interrupted, Preview
from comfyfleet.engine.order import Order
from comfyfleet.engine.queue import PromptQueue, Queued
from comfyfleet.engine.registry import Registry
from comfyfleet.engine.tamper import tamper_with_files
from comfyfleet.engine.telling import Telling
from comfyfleet.engine.validate import type_name

log = structlog.get_logger()


@dataclass(slots=True)
class Now:
    """Whose prompt runs, and where it is: a client that comes back is told."""

    client_id: str | None = None
    node_id: str | None = None


@dataclass(frozen=True, slots=True)
class Workshop:
    """Everything a run touches."""

    queue: PromptQueue
    registry: Registry
    folders: Folders
    hub: Hub
    board: FaultBoard
    cache: Cache
    now: Now
    may_die: bool


class PromptRun:
    def __init__(self, shop: Workshop, queued: Queued, faults: PromptFaults, telling: Telling) -> None:
        self._shop = shop
        self._queued = queued
        self._faults = faults
        self._telling = telling
        self._outputs: dict[str, Any] = {}
        self._meta: dict[str, Any] = {}
        self._executed: list[str] = []

    def run(self) -> Entry:
        began = time.monotonic()
        self._telling.record("execution_start")
        self._shop.cache.turn_to(self._queued.graph, self._shop.registry, self._shop.folders)
        if self._faults.instant_cached:
            succeeded = self._run_quietly()
        else:
            self._tell_cached([node_id for node_id in self._queued.graph if self._shop.cache.get(node_id)])
            succeeded = self._run_nodes()
        if succeeded:
            self._telling.record("execution_success", prompt_id=self._queued.prompt_id)
        self._shop.hub.log(f"Prompt executed in {time.monotonic() - began:.2f} seconds")
        if self._faults.empty_outputs:
            self._outputs, self._meta = {}, {}
        return Entry(
            prompt=self._queued.as_listed(),
            outputs=self._outputs,
            status_str="success" if succeeded else "error",
            completed=succeeded,
            messages=tuple(self._telling.messages),
            meta=self._meta,
        )

    def _tell_cached(self, nodes: list[str]) -> None:
        self._telling.record("execution_cached", nodes=nodes, prompt_id=self._queued.prompt_id)

    def _run_quietly(self) -> bool:
        """Make everything, and tell it as a cache would have had it."""
        self._telling.quiet = True
        succeeded = self._run_nodes()
        self._telling.quiet = False
        if succeeded:
            self._tell_cached(list(self._queued.graph))
            for node_id, ui in self._outputs.items():
                self._telling.executed(node_id, ui)
                self._telling.finished(node_id)
        return succeeded

    def _run_nodes(self) -> bool:
        graph = self._queued.graph
        order = Order(
            graph,
            is_output=lambda node_id: self._shop.registry[graph[node_id]["class_type"]].output_node,
            is_cached=lambda node_id: self._shop.cache.get(node_id) is not None,
        )
        for output in self._queued.outputs:
            order.add(output)
        while (node_id := order.next()) is not None:
            if not self._run_node(node_id):
                return False
            order.done(node_id)
        return True

    def _run_node(self, node_id: str) -> bool:
        kept = self._shop.cache.get(node_id)
        if kept is not None:
            self._show_again(node_id, kept)
            return True
        given: dict[str, list[Any]] | None = None
        try:
            self._telling.started(node_id)
            given = gather_inputs(node_id, self._queued, self._shop.registry, self._shop.folders, self._shop.cache)
            self._shop.now.node_id = node_id if self._shop.now.client_id else None
            self._telling.executing(node_id)
            self._make(node_id, given)
        except Interrupted:
            facts = self._facts_of_end(node_id)
            self._telling.record("execution_interrupted", broadcast=True, **facts)
            return False
        except Exception as error:
            log.info("engine.node_failed", node=node_id, error=type_name(error))
            self._shop.hub.log(f"!!! Exception during processing !!! {error}")
            self._telling.record("execution_error", **self._facts_of_error(node_id, given, error))
            return False
        self._telling.finished(node_id)
        self._executed.append(node_id)
        return True

    def _make(self, node_id: str, given: dict[str, list[Any]]) -> None:
        node = self._shop.registry[self._queued.graph[node_id]["class_type"]]
        self._check_interrupt()
        self._obey_faults(node_id)
        context = Context(
            folders=self._shop.folders,
            node_id=node_id,
            prompt_id=self._queued.prompt_id,
            graph=self._queued.graph,
            extra_pnginfo=self._queued.extra_data.get("extra_pnginfo"),
            preview_method=self._queued.extra_data.get("preview_method"),
            report=self._reporter(node_id),
            check=self._check_interrupt,
            say=lambda text: self._telling.say(node_id, text),
        )
        slots, ui = run_over_lists(node, given, context, before_each=self._check_interrupt)
        meta = None
        if ui:
            tamper_with_files(ui, self._faults, self._shop.folders)
            meta = {"node_id": node_id, "display_node": node_id, "parent_node": None, "real_node_id": node_id}
            self._outputs[node_id], self._meta[node_id] = ui, meta
            if not self._faults.empty_outputs:
                self._telling.executed(node_id, ui)
        self._shop.cache.put(node_id, Kept(slots, ui, meta))

    def _show_again(self, node_id: str, kept: Kept) -> None:
        self._telling.executed(node_id, kept.ui)
        if kept.ui is not None:
            self._outputs[node_id], self._meta[node_id] = kept.ui, kept.meta
        self._telling.finished(node_id)

    def _reporter(self, node_id: str) -> Callable[[float, float, Preview | None], None]:
        def report(value: float, steps: float, preview: Preview | None) -> None:
            if self._faults.slow_step_s:
                self._shop.board.released.wait(self._faults.slow_step_s)
            self._check_interrupt()
            self._telling.step(node_id, value, steps, preview)

        return report

    def _check_interrupt(self) -> None:
        if self._shop.queue.take_interrupt() or self._shop.queue.closed:
            raise Interrupted

    def _obey_faults(self, node_id: str) -> None:
        if self._faults.slow_step_s:
            time.sleep(self._faults.slow_step_s)
        if self._faults.hits("die_at_node", node_id) and self._shop.may_die:
            os._exit(1)
        if self._faults.hits("hang_at_node", node_id):
            self._shop.board.released.wait()
        raise_ordered(self._faults, node_id)

    def _facts_of_end(self, node_id: str) -> dict[str, Any]:
        return {
            "prompt_id": self._queued.prompt_id,
            "node_id": node_id,
            "node_type": self._queued.graph[node_id]["class_type"],
            "executed": list(self._executed),
        }

    def _facts_of_error(self, node_id: str, given: Mapping[str, list[Any]] | None, error: Exception) -> dict[str, Any]:
        tips = OUT_OF_MEMORY_TIPS if isinstance(error, OutOfMemory) else ""
        return {
            **self._facts_of_end(node_id),
            "exception_message": f"{error}\n{tips}",
            "exception_type": type_name(error),
            "traceback": traceback.format_tb(error.__traceback__),
            "current_inputs": {name: [shown(value) for value in values] for name, values in (given or {}).items()},
            "current_outputs": list(self._queued.graph),
        }
