"""A small HTTP port in a thread of its own.

A process whose event loop is busy must not look dead, and one whose loop is dead must not look alive.
"""

import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

import prometheus_client
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import CollectorRegistry

REQUEST_S = 5.0
CALLERS_MAX = 16

# A second series a counter, of a time that nobody asks for.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class PortReply:
    status: int
    content_type: str
    body: bytes


# By path; the handler gets the `Accept` header.
Pages: TypeAlias = Mapping[str, Callable[[str], PortReply]]


def metrics_reply(registry: CollectorRegistry, accept: str) -> PortReply:
    """In the format that the caller prefers: OpenMetrics, with exemplars, or the older text format."""
    encode, content_type = choose_encoder(accept)
    return PortReply(HTTPStatus.OK, content_type, encode(registry))


class StatusServer:
    """Listens from the moment it is made; raises OSError if it cannot. `with` serves."""

    def __init__(self, pages: Pages, *, host: str, port: int, name: str) -> None:
        self._server = _Server(pages, host, port, name)
        self.host, self.port = str(self._server.server_address[0]), int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="status-port", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=REQUEST_S)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, pages: Pages, host: str, port: int, name: str) -> None:
        self.pages, self.name = pages, name
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
    sys_version = ""

    def version_string(self) -> str:
        return self.server.name

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            paths = " and ".join(self.server.pages)
            reply = PortReply(HTTPStatus.NOT_FOUND, "application/json", f'{{"error":"there is {paths}"}}'.encode())
        else:
            reply = page(self.headers.get("Accept", ""))
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Probes come every few seconds: nothing to tell."""
