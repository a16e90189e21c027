"""Calls to other systems, timed: each writes one debug line, and followers hear of it.

A call is named by its verb or route. Never pass a whole URL: a query may hold a signature.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import structlog

log = structlog.get_logger()
# The logger is asked first: an event that nobody wants would pass through every processor before it is dropped.
_level = logging.getLogger(__name__)


class Kind(StrEnum):
    """The other side. Calls that wait for news on purpose have kinds of their own: their time says nothing of speed."""

    COMFYUI = "comfyui"
    COMFY_CLOUD = "comfy_cloud"
    CONTROL_PLANE = "control_plane"
    CONTROL_PLANE_WAIT = "control_plane_wait"
    OBJECT_STORE = "object_store"
    MACHINE = "machine"  # the cloud that the machine runs in
    WEBHOOK = "webhook"


class ExchangeOutcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"  # 4xx
    FAILED = "failed"  # 5xx
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"  # no connection, or one that broke
    CANCELLED = "cancelled"  # by us


@dataclass(slots=True)
class TimedExchange:
    """`status` is set by the caller when the answer begins; without one the call counts as answered."""

    kind: Kind
    call: str
    server: str = ""
    status: int | None = None
    outcome: ExchangeOutcome = ExchangeOutcome.OK
    took_s: float = 0.0


Follower: TypeAlias = Callable[[TimedExchange], None]
_followers: list[Follower] = []


@contextmanager
def follow_exchanges(follower: Follower) -> Iterator[None]:
    """`follower` is called on the thread of each call that ends inside the block."""
    _followers.append(follower)
    try:
        yield
    finally:
        _followers.remove(follower)


@contextmanager
def timed_exchange(kind: Kind, call: str, *, server: str = "") -> Iterator[TimedExchange]:
    exchange, began = TimedExchange(kind, call, server), time.perf_counter()
    problem: BaseException | None = None
    try:
        yield exchange
    except BaseException as error:
        problem = error
        raise
    finally:
        exchange.took_s = time.perf_counter() - began
        exchange.outcome = _outcome(exchange.status, problem)
        _tell(exchange)


def _outcome(status: int | None, problem: BaseException | None) -> ExchangeOutcome:
    if isinstance(problem, asyncio.CancelledError | GeneratorExit):
        return ExchangeOutcome.CANCELLED
    if problem is not None and _is_timeout(problem):
        return ExchangeOutcome.TIMED_OUT
    if problem is not None and (status is None or _broke(problem)):
        return ExchangeOutcome.UNREACHABLE
    if status is None or status < 400:
        return ExchangeOutcome.OK
    return ExchangeOutcome.FAILED if status >= 500 else ExchangeOutcome.REFUSED


def _is_timeout(problem: BaseException) -> bool:
    return isinstance(problem, TimeoutError) or _is_called(problem, "TimeoutException")


def _broke(problem: BaseException) -> bool:
    """The answer had begun, and did not end."""
    return isinstance(problem, OSError) or _is_called(problem, "TransportError", "StreamError")


def _is_called(problem: BaseException, *names: str) -> bool:
    # By name: this module is below the libraries that raise them.
    return any(each.__name__ in names for each in type(problem).__mro__)


def _tell(exchange: TimedExchange) -> None:
    if _level.isEnabledFor(logging.DEBUG):
        log.debug(
            "exchange",
            kind=exchange.kind.value,
            call=exchange.call,
            server=exchange.server or None,
            status=exchange.status,
            outcome=exchange.outcome.value,
            took_ms=round(exchange.took_s * 1000, 1),
        )
    for follower in tuple(_followers):
        follower(exchange)
