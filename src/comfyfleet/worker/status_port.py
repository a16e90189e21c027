"""`/healthz` and `/metrics` on a port of the worker's own."""

import os
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import msgspec
import structlog

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError
from comfyfleet.metrics.port import PortReply, StatusServer, metrics_reply
from comfyfleet.worker.telemetry import LOOP_AGE_S_MAX, Phase, Seen, Telemetry

log = structlog.get_logger()


class StatusPortTaken(FleetError):
    """Somebody else listens there: another worker of this machine, perhaps."""

    code = "status_port_taken"
    text = "Cannot listen on {host}:{port} ({problem}). Choose another status_port; 0 takes a free one."


def judge(seen: Seen) -> tuple[int, dict[str, Any]]:
    """A worker is well while it can do its work: polling or draining, with a server that is ready."""
    problem = None
    if seen.loop_age_s > LOOP_AGE_S_MAX:
        problem = f"its loop has stood still for {seconds_text(seen.loop_age_s)}"
    elif seen.phase is Phase.STOPPED:
        problem = "it has stopped"
    elif not any(status.ready for status in seen.servers.values()):
        problem = "no server is ready"
    elif seen.phase is Phase.STARTING:
        problem = "it has not registered yet"
    body: dict[str, Any] = {
        "status": seen.phase.value,
        "problem": problem,
        "takes_no_work": problem or seen.takes_no_work,
        "leases": seen.leases,
        "running": seen.running,
        "servers": {
            name: {"ready": status.ready, "problem": status.problem} for name, status in sorted(seen.servers.items())
        },
    }
    return (HTTPStatus.OK if problem is None else HTTPStatus.SERVICE_UNAVAILABLE), body


class StatusPort:
    """Listens from the moment it is made; `with` serves."""

    def __init__(self, telemetry: Telemetry, *, host: str, port: int) -> None:
        self._telemetry = telemetry
        pages = {"/healthz": self._health, "/metrics": lambda accept: metrics_reply(telemetry.registry, accept)}
        try:
            self._server = StatusServer(pages, host=host, port=port, name="comfyfleet-worker")
        except OSError as problem:
            raise StatusPortTaken(host=host, port=port, problem=os.strerror(problem.errno or 0)) from None
        self.port = self._server.port

    def _health(self, accept: str) -> PortReply:
        status, body = judge(self._telemetry.seen())
        return PortReply(status, "application/json", msgspec.json.encode(body))

    def __enter__(self) -> Self:
        self._server.__enter__()
        log.info("worker.status_port", host=self._server.host, port=self.port)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.__exit__(kind, error, at)
