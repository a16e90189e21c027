"""Calls to other systems: timed, told once in the log, never with a secret."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import httpx2
import pytest
from structlog.testing import capture_logs

from comfyfleet.comfy.address import parse_address
from comfyfleet.comfy.errors import ServerTimedOut
from comfyfleet.comfy.exchange import Exchange
from comfyfleet.kernel.exchanges import (
    ExchangeOutcome,
    Kind,
    TimedExchange,
    follow_exchanges,
    timed_exchange,
)

LOGGER = logging.getLogger("comfyfleet.kernel.exchanges")


@pytest.mark.parametrize(
    ("status", "problem", "outcome"),
    [
        (200, None, ExchangeOutcome.OK),
        (None, None, ExchangeOutcome.OK),
        (404, None, ExchangeOutcome.REFUSED),
        (503, None, ExchangeOutcome.FAILED),
        (503, RuntimeError("we made an error of it"), ExchangeOutcome.FAILED),
        (200, ValueError("not the JSON we know"), ExchangeOutcome.OK),
        (None, OSError("no route"), ExchangeOutcome.UNREACHABLE),
        (None, httpx2.ConnectError("refused"), ExchangeOutcome.UNREACHABLE),
        (200, httpx2.ReadError("cut"), ExchangeOutcome.UNREACHABLE),
        (None, httpx2.ReadTimeout("late"), ExchangeOutcome.TIMED_OUT),
        (200, TimeoutError(), ExchangeOutcome.TIMED_OUT),
        (None, asyncio.CancelledError(), ExchangeOutcome.CANCELLED),
    ],
)
def test_each_ending_has_its_outcome(status: int | None, problem: BaseException | None, outcome: str) -> None:
    heard: list[TimedExchange] = []

    def call() -> None:
        with timed_exchange(Kind.COMFYUI, "GET /queue") as exchange:
            exchange.status = status
            if problem is not None:
                raise problem

    with follow_exchanges(heard.append):
        if problem is None:
            call()
        else:
            with pytest.raises(type(problem)):
                call()
    assert [(each.outcome, each.took_s >= 0) for each in heard] == [(outcome, True)]
    with timed_exchange(Kind.COMFYUI, "GET /queue"):
        pass
    assert len(heard) == 1, "who has left hears nothing more"


async def test_a_slow_server_is_one_timed_out_exchange_and_one_line_without_its_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body() -> AsyncGenerator[bytes, None]:
        yield b"{}"

    async def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/slow":
            await asyncio.sleep(30)
        return httpx2.Response(200, content=body())

    heard: list[TimedExchange] = []
    exchange = Exchange(parse_address("http://user:hunter2@gpu:8188"), transport=httpx2.MockTransport(answer))
    monkeypatch.setattr(LOGGER, "level", logging.DEBUG)
    LOGGER.manager._clear_cache()  # type: ignore[attr-defined]
    with follow_exchanges(heard.append), capture_logs() as logs:
        await exchange.ask("GET", "/view", params={"token": "hunter3"}, limit_s=5, limit_bytes=100)
        with pytest.raises(ServerTimedOut):
            await exchange.ask("GET", "/slow", limit_s=0.05, limit_bytes=100)
    await exchange.close()
    assert [(each.call, each.status, each.outcome) for each in heard] == [
        ("GET /view", 200, "ok"),
        ("GET /slow", None, "timed_out"),
    ]
    assert [(each["event"], each["log_level"], each["kind"], each["call"]) for each in logs] == [
        ("exchange", "debug", "comfyui", "GET /view"),
        ("exchange", "debug", "comfyui", "GET /slow"),
    ]
    assert logs[1]["took_ms"] >= 50
    assert "hunter" not in repr(logs)


def test_no_line_is_made_where_nobody_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOGGER, "level", logging.INFO)
    LOGGER.manager._clear_cache()  # type: ignore[attr-defined]
    with capture_logs() as logs, timed_exchange(Kind.COMFYUI, "GET /queue"):
        pass
    assert logs == []
