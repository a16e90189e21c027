"""Run the application until a signal, then stop quickly even with streams open."""

from types import FrameType

import uvicorn
from fastapi import FastAPI

from comfyfleet.api.stopping import Stopping


class Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stopping: Stopping) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Streams never end by themselves: tell them before uvicorn starts to wait for them."""
        self._stopping.announce()
        super().handle_exit(sig, frame)


def build_server(app: FastAPI, *, host: str, port: int, grace_s: float, trusted_proxies: list[str]) -> Server:
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(grace_s)),
        forwarded_allow_ips=trusted_proxies,
    )
    return Server(config, app.state.stopping)
