"""The control plane as a worker sees it: eleven calls, typed both ways, and what may go wrong with them.

Unavailable      ControlUnreachable  no answer, one that says: later, or a token that must be renewed first
                 NameHeld            a live worker has our name, and we cannot show to be that one: later, too
Conflict         LeaseLost  Superseded  CallRefused
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import httpx2
import msgspec
import structlog

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Conflict, LeaseLost, Superseded, Unauthenticated, Unavailable, WorkerNameHeld
from comfyfleet.kernel.exchanges import Kind, timed_exchange
from comfyfleet.kernel.secret import Secret
from comfyfleet.wire import worker_v1 as wire

PREFIX = "/api/worker/"
ANSWER_BYTES_MAX = 64 * 1024**2  # a poll's reply holds a whole graph
CALL_S = 15.0
BEAT_S = 10.0
CONNECT_S = 5.0
RETRY_FIRST_S = 0.2
RETRY_MAX_S = 10.0
# These stay open until there is something to tell.
WAITING_CALLS = frozenset({"poll", "notices"})

log = structlog.get_logger()
T = TypeVar("T", bound=msgspec.Struct)
R = TypeVar("R")


class ControlUnreachable(Unavailable):
    """No connection, no answer in time, or one that says: not now."""

    code = "control_plane_unreachable"
    text = "The control plane {url} cannot be reached: {problem}. Is the address right, and does it run?"

    def __init__(self, url: str, *, problem: str, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(url=url, problem=problem)


class NameHeld(ControlUnreachable):
    """Somebody live has our name, and we cannot show to be that worker: it is free when that one has been silent."""

    code = "worker_name_held"
    text = "The control plane {url} says: {problem}"


class CallRefused(Conflict):
    """It answered, and will answer the same again: `refusal` is the code it gave."""

    code = "call_refused"
    text = "The control plane refused {verb} ({refusal}): {problem}"

    def __init__(self, verb: str, *, status: int, refusal: str, problem: str) -> None:
        self.status = status
        self.refusal = refusal
        super().__init__(verb=verb, status=status, refusal=refusal, problem=problem)


class Session:
    """Who we are. The token changes with each registration; both clients read it here."""

    def __init__(self, url: str, worker_id: str) -> None:
        self.url = url.rstrip("/")
        self.worker_id = worker_id
        self.token: Secret | None = None
        self.takes: frozenset[str] = frozenset()  # fields that came later, and that the control plane knows

    def headers(self) -> dict[str, str]:
        bearer = {} if self.token is None else {"Authorization": f"Bearer {self.token.reveal()}"}
        return {"Content-Type": "application/json", **bearer}

    def address(self, verb: str) -> str:
        return f"{self.url}{PREFIX}{verb}"


class ControlClient:
    """For the event loop. `on_refused`: the token is no longer one; whoever hears it registers anew."""

    def __init__(self, session: Session, *, verify: Any = True) -> None:
        self.session = session
        self.on_refused: Callable[[], None] = lambda: None
        self._http = httpx2.AsyncClient(
            timeout=_limits(CALL_S), follow_redirects=False, verify=verify, limits=httpx2.Limits(max_connections=100)
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def register(
        self, fleet_secret: Secret, said: wire.Register, *, last_token: Secret | None, next_token: Secret
    ) -> wire.Registered:
        """`last_token` shows that we are the worker that has the name; `next_token` is to be the one from now on."""
        headers = {
            "Content-Type": "application/json",
            "X-Fleet-Secret": fleet_secret.reveal(),
            "X-Next-Token": next_token.reveal(),
        }
        if last_token is not None:
            headers["Authorization"] = f"Bearer {last_token.reveal()}"
        reply = await self._ask("register", said, wire.Registered, headers=headers)
        self.session.takes = frozenset(reply.takes)
        return reply

    async def poll(self, said: wire.Poll) -> wire.PollReply:
        return await self._ask("poll", said, wire.PollReply, within_s=said.wait_seconds + CALL_S)

    async def complete(self, said: wire.Complete) -> wire.EndReply:
        return await self._ask("complete", said, wire.EndReply, within_s=60.0)

    async def fail(self, said: wire.Fail) -> wire.EndReply:
        return await self._ask("fail", said, wire.EndReply)

    async def requeue(self, said: wire.Requeue) -> wire.EndReply:
        return await self._ask("requeue", said, wire.EndReply)

    async def outputs(self, said: wire.Outputs) -> list[wire.OutputUrl]:
        return (await self._ask("outputs", said, wire.OutputsReply)).outputs

    async def events(self, said: wire.Events) -> wire.EventsReply:
        return await self._ask("events", said, wire.EventsReply)

    async def notices(self, said: wire.Notices) -> wire.NoticesReply:
        return await self._ask("notices", said, wire.NoticesReply, within_s=said.wait_seconds + CALL_S)

    async def definitions(self, said: wire.Definitions) -> wire.DefinitionsReply:
        return await self._ask("definitions", said, wire.DefinitionsReply, within_s=60.0)

    async def deregister(self) -> wire.Deregistered:
        return await self._ask("deregister", wire.Deregister(worker_id=self.session.worker_id), wire.Deregistered)

    async def _ask(
        self,
        verb: str,
        said: msgspec.Struct,
        kind: type[T],
        *,
        headers: dict[str, str] | None = None,
        within_s: float = CALL_S,
    ) -> T:
        token = self.session.token
        request = self._http.build_request(
            "POST",
            self.session.address(verb),
            content=msgspec.json.encode(said),
            headers=headers or self.session.headers(),
            timeout=_limits(within_s),
        )
        try:
            with timed_exchange(_kind(verb), verb) as exchange:
                async with asyncio.timeout(within_s + CONNECT_S):
                    answer = await self._http.send(request, stream=True)
                    exchange.status = answer.status_code
                    try:
                        body = await self._read(answer)
                    finally:
                        await answer.aclose()
        except (httpx2.HTTPError, TimeoutError, OSError) as error:
            raise ControlUnreachable(self.session.url, problem=_problem(error)) from None
        try:
            return understand(self.session, verb, said, answer, body, kind)
        except (Unauthenticated, Superseded) as error:
            if verb == "register" or (isinstance(error, Superseded) and self.session.token is token):
                raise
            if self.session.token is token:
                self.on_refused()
            raise ControlUnreachable(self.session.url, problem=f"we have to register anew: {error.message}") from None

    async def _read(self, answer: httpx2.Response) -> bytes:
        body = bytearray()
        async for piece in answer.aiter_bytes():
            body += piece
            _require_bounded(self.session.url, body)
        return bytes(body)


class BeatClient:
    """For the heartbeat's thread: a connection of its own, and no event loop to wait for."""

    def __init__(self, session: Session, *, verify: Any = True) -> None:
        self.session = session
        self._http = httpx2.Client(timeout=_limits(BEAT_S), follow_redirects=False, verify=verify)

    def close(self) -> None:
        self._http.close()

    def heartbeat(self, said: wire.Heartbeat) -> wire.HeartbeatReply:
        token = self.session.token
        request = self._http.build_request(
            "POST",
            self.session.address("heartbeat"),
            content=msgspec.json.encode(said),
            headers=self.session.headers(),
        )
        body = bytearray()
        try:
            with timed_exchange(Kind.CONTROL_PLANE, "heartbeat") as exchange:
                answer = self._http.send(request, stream=True)
                exchange.status = answer.status_code
                try:
                    for piece in answer.iter_bytes():
                        body += piece
                        _require_bounded(self.session.url, body)
                finally:
                    answer.close()
        except (httpx2.HTTPError, OSError) as error:
            raise ControlUnreachable(self.session.url, problem=_problem(error)) from None
        try:
            return understand(self.session, "heartbeat", said, answer, bytes(body), wire.HeartbeatReply)
        except (Unauthenticated, Superseded):
            if self.session.token is token:
                raise
            # The answer to a token that we have replaced meanwhile.
            raise ControlUnreachable(self.session.url, problem="we have registered anew") from None


def understand(
    session: Session, verb: str, said: msgspec.Struct, answer: httpx2.Response, body: bytes, kind: type[T]
) -> T:
    """The reply, or the error that it is."""
    url = session.url
    if answer.status_code == 200:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError:
            raise ControlUnreachable(url, problem=f"its answer to {verb} is not what this version reads") from None
    code, message, details = _fault(body)
    match answer.status_code, code:
        case (409, LeaseLost.code):
            raise LeaseLost(getattr(said, "dispatch_id", None), str(details.get("reason", message)))
        case (409, WorkerNameHeld.code):
            raise NameHeld(url, problem=message, retry_after_s=_retry_after_s(answer))
        case (409, Superseded.code):
            raise Superseded(session.worker_id)
        case (401, _):
            raise Unauthenticated(message)
        case (status, _) if status >= 500 or (status in (404, 408, 425, 429) and code != "not_found"):
            raise ControlUnreachable(url, problem=f"{status} {code}", retry_after_s=_retry_after_s(answer))
        case (status, _):
            raise CallRefused(verb, status=status, refusal=code, problem=message)


async def insist(call: Callable[[], Awaitable[R]], *, what: str) -> R:
    """Until it is answered, however long that takes; whoever gives up cancels."""
    tried = 0
    while True:
        try:
            return await call()
        except ControlUnreachable as problem:
            tried += 1
            event = "worker.waits_for_its_name" if isinstance(problem, NameHeld) else "control.unreachable"
            log.warning(event, call=what, tried=tried, problem=problem.message)
            wait_s = backoff_s(tried, chance=random.random(), base_s=RETRY_FIRST_S, ceiling_s=RETRY_MAX_S)  # noqa: S311
            await asyncio.sleep(max(wait_s, min(problem.retry_after_s or 0.0, 60.0)))


def _kind(verb: str) -> Kind:
    return Kind.CONTROL_PLANE_WAIT if verb in WAITING_CALLS else Kind.CONTROL_PLANE


def _limits(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=CONNECT_S)


def _require_bounded(url: str, body: bytearray) -> None:
    if len(body) > ANSWER_BYTES_MAX:
        raise ControlUnreachable(url, problem=f"its answer has more than {ANSWER_BYTES_MAX} bytes")


def _fault(body: bytes) -> tuple[str, str, dict[str, Any]]:
    """From our own error shape; a proxy in between says something else, and that is no code of ours."""
    try:
        fault = msgspec.json.decode(body, type=dict[str, Any])["error"]
        details = fault.get("details")
        return str(fault["code"])[:100], str(fault["message"])[:1000], details if isinstance(details, dict) else {}
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return "", "no word of the control plane's", {}


def _retry_after_s(answer: httpx2.Response) -> float | None:
    with suppress(KeyError, ValueError):
        return float(answer.headers["retry-after"])
    return None


def _problem(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__
