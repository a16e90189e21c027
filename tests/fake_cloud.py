"""Comfy Cloud as it is described, over a real socket, with the faults it may have.

`cloud` speaks the v1 routes and wants the key; `bucket` is the other host that `/api/view` redirects to, and it must
never see that key. What happens next is set from the test: `cloud.answers(...)` for canned answers, `job.words` for
the states that the next polls see.
"""

import asyncio
import contextlib
import hashlib
import json
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, fields
from email import message_from_bytes
from typing import Any
from uuid import uuid4

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

KEY = "comfyui-0123456789abcdef-never-shown"
PICTURE = b"\x89PNG\r\n\x1a\n" + b"a picture" * 64
STARTS_WITHIN_S = 20


@dataclass
class FakeJob:
    """`words` are what the next polls of its status see; the last one stays."""

    id: str
    body: dict[str, Any]
    words: deque[str]
    outputs: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    error_message: str | None = None
    history_after_reads: int = 0
    cancels: bool = True

    @property
    def workflow_id(self) -> str | None:
        found = self.body.get("extra_data", {}).get("extra_pnginfo", {}).get("workflow", {})
        return found.get("id") if isinstance(found, dict) else None

    def look(self) -> str:
        return self.words.popleft() if len(self.words) > 1 else self.words[0]


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Request], Awaitable[Response]]


class _CutShort(Exception):
    """Makes uvicorn close the connection in the middle of an answer."""


@dataclass
class FakeCloud:
    url: str = ""
    bucket_url: str = ""
    words: tuple[str, ...] = ("waiting_to_dispatch", "pending", "in_progress", "completed")
    outputs: dict[str, Any] = field(
        default_factory=lambda: {"9": {"images": [{"filename": "cat_00001_.png", "subfolder": "", "type": "output"}]}}
    )
    files: dict[str, bytes] = field(default_factory=lambda: {"cat_00001_.png": PICTURE})
    jobs: dict[str, FakeJob] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    bucket_seen: list[Seen] = field(default_factory=list)
    redirect_to: str | None = None
    has_cancel_route: bool = True
    released: threading.Event = field(default_factory=threading.Event)
    _canned: dict[str, deque[Answer]] = field(default_factory=lambda: defaultdict(deque))

    # -- what a test says and asks

    def reset(self) -> None:
        """As new, on the same ports."""
        self.released.set()
        fresh = FakeCloud(self.url, self.bucket_url)
        for each in fields(self):
            setattr(self, each.name, getattr(fresh, each.name))

    def answers(self, route: str, *answers: Answer) -> None:
        """The next requests of this route get these instead of what the cloud would say."""
        self._canned[route].extend(answers)

    def posts(self, route: str) -> list[Seen]:
        return [each for each in self.seen if each.method == "POST" and each.path == route]

    def gets(self, route: str) -> list[Seen]:
        return [each for each in self.seen if each.method == "GET" and each.path == route]

    @property
    def job(self) -> FakeJob:
        (only,) = self.jobs.values()
        return only

    # -- the cloud

    async def take(self, request: Request) -> Response:
        body = await request.body()
        path = request.url.path
        self.seen.append(Seen(request.method, path, dict(request.query_params), dict(request.headers), body))
        if self._canned[path]:
            return await self._canned[path].popleft()(request)
        if request.headers.get("x-api-key") != KEY:
            return told(401, "UNAUTHORIZED", "no such key")
        return await self.route(request, body)

    async def route(self, request: Request, body: bytes) -> Response:
        parts = request.url.path.removeprefix("/api/").split("/")
        return self.read(request, parts) if request.method == "GET" else self.write(request, parts, body)

    def read(self, request: Request, parts: list[str]) -> Response:
        match parts:
            case ["job", job_id, "status"]:
                return self.status(job_id)
            case ["jobs"]:
                return self.listed(request.query_params)
            case ["jobs", job_id]:
                return self.detail(job_id)
            case ["history_v2", job_id]:
                return self.history(job_id)
            case ["view"]:
                return self.view(request.query_params["filename"])
            case ["system_stats"]:
                return JSONResponse({"system": {"comfyui_version": "0.33.0", "os": "linux"}, "devices": []})
            case ["object_info"]:
                return JSONResponse({"SaveImage": {"input": {"required": {}}}, "LoadImage": {"input": {}}})
        return told(404, "NOT_FOUND", "no such route")

    def write(self, request: Request, parts: list[str], body: bytes) -> Response:
        match parts:
            case ["prompt"]:
                return self.prompt(json.loads(body))
            case ["upload", "image" | "mask"]:
                return self.upload(request.headers["content-type"], body)
            case ["jobs", job_id, "cancel"] if self.has_cancel_route:
                return self.cancelled(job_id)
            case ["history"]:
                for job_id in json.loads(body)["delete"]:
                    self.jobs.pop(job_id, None)
                return Response(status_code=200)
            case ["queue"]:
                return JSONResponse({"deleted": [each for each in json.loads(body)["delete"] if self._stop(each)]})
        return told(404, "NOT_FOUND", "no such route")

    def prompt(self, body: dict[str, Any]) -> Response:
        job = FakeJob(str(uuid4()), body, deque(self.words), outputs=dict(self.outputs))
        self.jobs[job.id] = job
        return JSONResponse({"prompt_id": job.id, "number": 1, "node_errors": {}})

    def upload(self, content_type: str, body: bytes) -> Response:
        form = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
        parts: Any = form.get_payload()
        (filename, content) = next(
            (part.get_filename(), part.get_payload(decode=True)) for part in parts if part.get_filename()
        )
        stored = f"{hashlib.sha256(content).hexdigest()}.{filename.rpartition('.')[2]}"
        self.files[stored] = content
        return JSONResponse({"name": stored, "subfolder": "ignored", "type": "output"})

    def status(self, job_id: str) -> Response:
        if (job := self.jobs.get(job_id)) is None:
            return told(404, "NOT_FOUND", "Job not found")
        word = job.look()
        return JSONResponse(
            {
                "id": job.id,
                "status": word,
                "created_at": "2026-01-01T00:00:00Z",
                "updated_at": "2026-01-01T00:00:00Z",
                "error_message": job.error_message,
            }
        )

    def listed(self, query: Any) -> Response:
        wanted = query.get("workflow_id")
        jobs = [
            {"id": job.id, "status": job.words[0], "create_time": 1, "workflow_id": job.workflow_id}
            for job in self.jobs.values()
            if wanted is None or job.workflow_id == wanted
        ]
        page = {"offset": 0, "limit": 100, "total": len(jobs), "has_more": False}
        return JSONResponse({"jobs": jobs, "pagination": page})

    def detail(self, job_id: str) -> Response:
        if (job := self.jobs.get(job_id)) is None:
            return told(404, "NOT_FOUND", "Job not found")
        detail: dict[str, Any] = {"id": job.id, "status": job.words[0], "create_time": 1, "update_time": 1}
        return JSONResponse(detail | {"outputs": job.outputs} | ({"execution_error": job.error} if job.error else {}))

    def history(self, job_id: str) -> Response:
        job = self.jobs.get(job_id)
        if job is None:
            return told(404, "NOT_FOUND", "Prompt not found")
        if job.history_after_reads > 0:
            job.history_after_reads -= 1
            return JSONResponse({})
        status = {"status_str": "error" if job.error else "success", "completed": not job.error, "messages": []}
        return JSONResponse({job.id: {"prompt": {}, "outputs": job.outputs, "status": status, "meta": {}}})

    def cancelled(self, job_id: str) -> Response:
        if job_id not in self.jobs:
            return told(404, "NOT_FOUND", "Job not found")
        return JSONResponse({"cancelled": self._stop(job_id)})

    def _stop(self, job_id: str) -> bool:
        job = self.jobs.get(job_id)
        if job is None or not job.cancels:
            return False
        job.words = deque(["cancelled"])
        return True

    def view(self, filename: str) -> Response:
        if filename not in self.files:
            return told(404, "NOT_FOUND", "File not found")
        return RedirectResponse(self.redirect_to or f"{self.bucket_url}/signed/{filename}?X-Signature=abc", 302)

    # -- the bucket

    async def give(self, request: Request) -> Response:
        self.bucket_seen.append(
            Seen(request.method, request.url.path, dict(request.query_params), dict(request.headers), b"")
        )
        if self._canned["bucket"]:
            return await self._canned["bucket"].popleft()(request)
        if "x-api-key" in request.headers or KEY in str(request.url) + str(request.headers):
            return Response("the key came here", status_code=500)
        name = request.url.path.rpartition("/")[2]
        if name not in self.files or request.query_params.get("X-Signature") != "abc":
            return Response("<Error>NoSuchKey</Error>", status_code=404, media_type="application/xml")
        return Response(self.files[name], media_type="image/png")

    def key_leaked_to_the_bucket(self) -> bool:
        return any("x-api-key" in each.headers or KEY in repr(each) for each in self.bucket_seen)


def told(status: int, code: str, message: str, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"code": code, "message": message}, status_code=status, headers=named)


def says(status: int, code: str = "TROUBLE", message: str = "no", **headers: str) -> Answer:
    async def answer(_: Request) -> Response:
        return told(status, code, message, **headers)

    return answer


def raw(body: bytes | str, *, status: int = 200, media_type: str = "application/json") -> Answer:
    async def answer(_: Request) -> Response:
        return Response(body, status_code=status, media_type=media_type)

    return answer


def endless(chunk: bytes = b" " * 65_536) -> Answer:
    async def answer(request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            while not await request.is_disconnected():
                yield chunk

        return StreamingResponse(body(), media_type="application/json")

    return answer


def cut_short(said: bytes = b'{"prompt_id', *, declared_bytes: int = 10_000) -> Answer:
    """Headers, some of the body, and the connection is gone."""

    async def answer(_: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            yield said
            raise _CutShort

        return StreamingResponse(body(), headers={"Content-Length": str(declared_bytes)})

    return answer


def done_but_cut_short(cloud: FakeCloud) -> Answer:
    """The prompt is taken, and the answer never arrives whole."""

    async def answer(request: Request) -> Response:
        await cloud.route(request, await request.body())
        return await cut_short()(request)

    return answer


def silent(cloud: FakeCloud, *, then: Answer | None = None) -> Answer:
    """Says nothing until the test is over."""

    async def answer(request: Request) -> Response:
        if then is not None:
            await then(request)
        await asyncio.to_thread(cloud.released.wait, STARTS_WITHIN_S)
        return Response(status_code=503)

    return answer


@contextlib.contextmanager
def fake_cloud() -> Iterator[FakeCloud]:
    cloud = FakeCloud()
    methods = ["GET", "POST"]
    with (
        serving(Starlette(routes=[Route("/{rest:path}", cloud.take, methods=methods)])) as cloud.url,
        serving(Starlette(routes=[Route("/{rest:path}", cloud.give, methods=methods)])) as bucket_url,
    ):
        # Another name of the same machine, so that it is another host to whoever compares names.
        cloud.bucket_url = bucket_url.replace("127.0.0.1", "localhost")
        try:
            yield cloud
        finally:
            cloud.released.set()


@contextlib.contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """An application on a free port of the loopback, in a thread of its own."""
    # The protocol is named because asyncio sends small packets at once only on sockets that name it: 40 ms a request.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    until = time.monotonic() + STARTS_WITHIN_S
    while not server.started:
        assert time.monotonic() < until, "the fake did not start"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(STARTS_WITHIN_S)
        listener.close()
