"""Looking a ComfyUI server over, for `doctor.py` to judge. Only reads: nothing is queued, freed or stored."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from comfyfleet.comfy.address import Address
from comfyfleet.comfy.client import ComfyClient
from comfyfleet.comfy.doctor import SENSITIVE_ROUTES, Examined, WorkflowNeeds
from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass
from comfyfleet.comfy.exchange import Exchange
from comfyfleet.comfy.graph import ObjectInfo, find_problems, load_graph, missing_classes, missing_models
from comfyfleet.comfy.socket import ComfySocket
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError

PROBE = "/prompt"  # GET tells how many wait: the cheapest thing that a ComfyUI says
PROBES = 5
PROBE_S = 5.0
PROBE_BYTES_MAX = 1 << 20
SOCKET_S = 10.0


async def examine(address: Address, *, workflow: Mapping[str, Any] | None = None) -> Examined:
    """Raises only if the server cannot be asked at all."""
    async with ComfyClient(address) as client:
        facts = await client.system_stats()
        needs = None if workflow is None else find_needs(workflow, await client.object_info())
    async with _exchange(address) as exchange:
        latency_s, clock_off_s = await _time(exchange)
    async with _exchange(Address(address.url)) as nobody:
        opens = await _is_open(nobody, "/system_stats")
        routes = [route for route in SENSITIVE_ROUTES if opens and await _is_open(nobody, route)]
    return Examined(
        url=address.url,
        host=urlsplit(address.url).hostname or "",
        facts=facts,
        latency_s=latency_s,
        clock_off_s=clock_off_s,
        socket_problem=await _socket_problem(address),
        sends_credentials=bool(address.headers),
        opens_without_credentials=opens,
        open_routes=tuple(routes),
        workflow=needs,
    )


def find_needs(workflow: Mapping[str, Any], object_info: ObjectInfo) -> WorkflowNeeds:
    """Of either format. What cannot be converted is told as a reason, and not raised."""
    try:
        graph = load_graph(workflow, object_info=object_info)
    except MissingNodeClass as missing:
        return WorkflowNeeds(nodes=0, missing_classes=tuple(missing.classes))
    except InvalidGraph as problem:
        return WorkflowNeeds(nodes=0, problems=(problem.message,))
    found = find_problems(graph, object_info=object_info)
    return WorkflowNeeds(
        nodes=len(graph),
        missing_classes=missing_classes(graph, object_info),
        missing_models=missing_models(graph, object_info),
        problems=tuple(each.message for each in found if not isinstance(each, MissingNodeClass)),
    )


async def _time(exchange: Exchange) -> tuple[float, float | None]:
    """Seconds of an answer, in the middle of a few; and how far its clock is before ours."""
    took: list[float] = []
    told: str | None = None
    for _ in range(PROBES):
        started = time.perf_counter()
        async with exchange.stream(exchange.build("GET", PROBE), route=PROBE, limit_s=PROBE_S) as response:
            async for _ in exchange.chunks(response, route=PROBE, limit_bytes=PROBE_BYTES_MAX):
                pass
            told = response.headers.get("Date")
        took.append(time.perf_counter() - started)
    return statistics.median(took), _clock_off_s(told)


def _clock_off_s(told: str | None) -> float | None:
    try:
        at = parsedate_to_datetime(told or "")
    except ValueError:
        return None
    return (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


async def _is_open(nobody: Exchange, route: str) -> bool:
    try:
        async with nobody.stream(nobody.build("GET", route), route=route, limit_s=PROBE_S) as response:
            # A page of the web interface is no answer of this route.
            return response.status_code == 200 and "html" not in response.headers.get("Content-Type", "")
    except FleetError:
        return False


async def _socket_problem(address: Address) -> str | None:
    socket = ComfySocket(address)
    try:
        async with asyncio.timeout(SOCKET_S):
            await socket.open()
    except TimeoutError:
        return f"nothing was heard within {seconds_text(SOCKET_S)}"
    except FleetError as error:
        return error.message
    finally:
        await socket.close()
    return None


@asynccontextmanager
async def _exchange(address: Address) -> AsyncIterator[Exchange]:
    exchange = Exchange(address)
    try:
        yield exchange
    finally:
        await exchange.close()
