"""`/healthz` and `/metrics` on a port of the worker's own.

In a thread: a worker whose loop is busy must not look dead, and one whose loop is dead must not look alive.
"""

import os
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import msgspec
import structlog

from comfyfleet.kernel.errors import FleetError
from comfyfleet.worker.exposition import CONTENT_TYPE, render
from comfyfleet.worker.telemetry import LOOP_AGE_S_MAX, Phase, Seen, Telemetry

REQUEST_S = 5.0
CALLERS_MAX = 16

log = structlog.get_logger()


class StatusPortTaken(FleetError):
    """Somebody else listens there: another worker of this machine, perhaps."""

    code = "status_port_taken"
    text = "Cannot listen on {host}:{port} ({problem}). Choose another status_port; 0 takes a free one."


def judge(seen: Seen) -> tuple[int, dict[str, Any]]:
    """A worker is well while it can do its work: polling or draining, with a server that is ready."""
    problem = None
    if seen.loop_age_s > LOOP_AGE_S_MAX:
        problem = f"its loop has stood still for {seen.loop_age_s:.0f} s"
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
        try:
            self._server = _Server(telemetry, host, port)
        except OSError as problem:
            raise StatusPortTaken(host=host, port=port, problem=os.strerror(problem.errno or 0)) from None
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="status-port", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        log.info("worker.status_port", host=self._server.server_address[0], port=self.port)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=REQUEST_S)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, telemetry: Telemetry, host: str, port: int) -> None:
        self.telemetry = telemetry
        self._callers = threading.BoundedSemaphore(CALLERS_MAX)
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Answering)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._callers.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._callers.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hung up, or said nothing in time, is no event."""


class _Answering(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_S
    server_version = "comfyfleet-worker"
    sys_version = ""

    def do_GET(self) -> None:
        seen = self.server.telemetry.seen()
        match self.path.partition("?")[0]:
            case "/healthz":
                status, body = judge(seen)
                self._answer(status, "application/json", msgspec.json.encode(body))
            case "/metrics":
                self._answer(HTTPStatus.OK, CONTENT_TYPE, render(seen).encode())
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "application/json", b'{"error":"there is /healthz and /metrics"}')

    do_HEAD = do_GET

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Probes come every few seconds: nothing to tell."""
