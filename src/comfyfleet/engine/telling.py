"""What the clients hear of one running prompt, in ComfyUI's words and order; faults of the socket come in here."""

import time
from collections.abc import Mapping
from typing import Any

from comfyfleet.engine.faults import PromptFaults
from comfyfleet.engine.messages import Drop, Hub, Letter, text_frame
from comfyfleet.engine.node import Preview
from comfyfleet.engine.progress import ProgressState


class Telling:
    def __init__(self, hub: Hub, prompt_id: str, client_id: str | None, faults: PromptFaults) -> None:
        self._hub = hub
        self._prompt_id = prompt_id
        self._client_id = client_id
        self._faults = faults
        self._sent_count = 0
        self._held: tuple[str, Mapping[str, Any]] | None = None
        self._progress = ProgressState(prompt_id)
        self.messages: list[tuple[str, dict[str, Any]]] = []  # what history keeps
        self.quiet = False

    def record(self, kind: str, *, broadcast: bool = False, **facts: Any) -> None:
        """A milestone: history keeps it too. Without a client most are told to nobody."""
        message = {**facts, "timestamp": int(time.time() * 1000)}
        if kind == "execution_start":
            message = {"prompt_id": self._prompt_id, **message}
        self.messages.append((kind, message))
        self._tell(kind, message, broadcast=broadcast)

    def executing(self, node_id: str) -> None:
        self._tell("executing", {"node": node_id, "display_node": node_id, "prompt_id": self._prompt_id})

    def executed(self, node_id: str, ui: Mapping[str, Any] | None) -> None:
        facts = {"node": node_id, "display_node": node_id, "output": ui, "prompt_id": self._prompt_id}
        self._tell("executed", facts)

    def over(self) -> None:
        self._tell("executing", {"node": None, "prompt_id": self._prompt_id})

    def started(self, node_id: str) -> None:
        self._progress.start(node_id)
        self._tell_progress()

    def finished(self, node_id: str) -> None:
        self._progress.finish(node_id)
        self._tell_progress()

    def step(self, node_id: str, value: float, steps: float, preview: Preview | None) -> None:
        self._progress.step(node_id, value, steps)
        self._tell_progress()
        with_metadata = self._hub.wants_preview_metadata(self._client_id)
        if preview is not None and with_metadata:
            self._preview(node_id, preview)
        facts = {"value": value, "max": steps, "prompt_id": self._prompt_id, "node": node_id}
        self._tell("progress", facts, broadcast=True)
        if preview is not None and not with_metadata:
            self._preview(node_id, preview)

    def say(self, node_id: str, text: str) -> None:
        if not self.quiet and self._may_send():
            self._hub.post(Letter(text_frame(node_id, text), self._client_id))

    def _preview(self, node_id: str, preview: Preview) -> None:
        if not self.quiet and self._may_send():
            self._hub.send_preview(preview, self._progress.facts_of(node_id), self._client_id)

    def _tell_progress(self) -> None:
        self._tell("progress_state", self._progress.as_message(), broadcast=True)

    def _tell(self, kind: str, message: Mapping[str, Any], *, broadcast: bool = False) -> None:
        if self.quiet or (self._client_id is None and not broadcast):
            return
        if not self._may_send():
            return
        if self._held is None and self._faults.reorder_at == self._sent_count:
            self._held = (kind, message)  # it goes after the next one
            return
        self._hub.send(kind, message, self._client_id)
        if self._held is not None:
            held, self._held = self._held, None
            self._hub.send(*held, self._client_id)

    def _may_send(self) -> bool:
        """Counts the messages of this prompt, from 1; a fault may end them."""
        self._sent_count += 1
        if self._faults.drop_socket_at == self._sent_count and self._client_id is not None:
            self._hub.post(Letter(Drop(), self._client_id))
        silent_from = self._faults.silence_socket_at
        return silent_from is None or self._sent_count < silent_from
