"""An engine in a process of its own, and what a command left."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2


@dataclass(frozen=True)
class Server:
    url: str

    def order(self, **faults: Any) -> None:
        httpx2.post(f"{self.url}/comfyfleet/faults", json=faults, timeout=10).raise_for_status()

    def queue(self) -> dict[str, list[Any]]:
        queue: dict[str, list[Any]] = httpx2.get(f"{self.url}/queue", timeout=10).json()
        return queue


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Comfy = Callable[..., Done]
