"""Thousands of requests made from the API's own description: none may crash, every error has the one shape.

`FUZZ_EXAMPLES=500 pytest tests/api/test_openapi_fuzz.py` looks longer.
"""

import asyncio
import os
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from comfyfleet.api.app import build_app
from comfyfleet.api.options import ApiOptions
from comfyfleet.bootstrap import build_house
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings
from tests.api.asking import fault
from tests.api.conftest import WEBHOOK_SECRET
from tests.builders import a_key, a_member, a_tenant, a_user, a_workflow, an_effect, an_operator_key

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "8"))
# What the server says by itself of bytes that are no HTTP, such as a raw control character in the address.
NOT_HTTP = "Invalid HTTP request received."
# Streams; tests/journeys/test_server_process.py and tests/live read them.
ENDLESS = {"/api/admin/live", "/api/events", "/api/ai-jobs/{job_id}/events"}
NO_LIMITS = ApiOptions(
    requests_per_minute_per_key=10**9,
    requests_per_minute_per_tenant=10**9,
    logins_per_minute=10**9,
    payment_webhook_secrets=[Secret(WEBHOOK_SECRET)],
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@dataclass(frozen=True)
class Target:
    url: str
    headers: dict[str, str]
    ids: dict[str, str]
    answered: set[tuple[str, int]] = field(default_factory=set)


@pytest.fixture
def server(settings: Settings) -> Iterator[str]:
    """The application over a real socket, in a thread with an event loop of its own."""
    config = uvicorn.Config(build_app(build_house(settings), NO_LIMITS), port=0, log_config=None, access_log=False)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        thread.join(0.02)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    thread.join(10)
    assert not thread.is_alive()


async def _people(settings: Settings) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Each role with its credential, and ids that exist: unknown ones end at the first look-up."""
    house = build_house(settings)
    try:
        admin, spare = await a_member(house), await a_tenant(house)
        key = await a_key(house, admin.user)
        ids = {"user_id": str((await a_user(house, admin.tenant)).id)}
        transport = httpx2.ASGITransport(app=build_app(house, NO_LIMITS))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            file = {"name": "a.png", "mime_type": "image/png", "size": 3}
            ids["file_id"] = (await client.post("/api/files", json=file, headers=admin.headers)).json()["file"]["id"]
            keys = (await client.get("/api/keys", headers=admin.headers)).json()["keys"]
            prefix = key.reveal().split("_")[1]
            (ids["key_id"],) = [each["id"] for each in keys if each["prefix"] == prefix]
        workflow = await a_workflow(house)
        ids["effect_slug"] = (await an_effect(house, workflow=workflow.slug)).slug
        draft = await an_effect(house, workflow=workflow.slug, is_published=False)
        operators = {"tenant_id": str(spare.id), "slug": workflow.slug, "version": "1", "effect_slug": draft.slug}
        return {
            "anonymous": ({}, {}),
            "admin": (admin.headers, ids),
            "operator": (await an_operator_key(house), operators),
        }
    finally:
        await house.close()


@pytest.mark.timeout(600 if EXAMPLES > 50 else 300)
@pytest.mark.parametrize(
    ("role", "engine"),
    [("anonymous", "sqlite"), ("admin", "postgresql"), ("operator", "sqlite")],
    indirect=["engine"],
)
def test_no_request_the_description_allows_or_forbids_breaks_the_server(
    server: str, settings: Settings, role: str
) -> None:
    headers, ids = asyncio.run(_people(settings))[role]
    schema = schemathesis.openapi.from_url(f"{server}/openapi.json")
    found = [each.ok() for each in schema.get_all_operations()]
    chosen = [operation for operation in found if operation.path not in ENDLESS]
    assert len(chosen) >= 30
    target = Target(server, headers, ids)
    problems = [problem for each in chosen for problem in _fuzz(each, target)]
    assert problems == []
    reached = {label for label, status in target.answered if status < 300}
    assert len(reached) >= {"anonymous": 3, "admin": 15, "operator": 10}[role], sorted(reached)
    assert httpx2.get(f"{server}/readyz").json()["status"] == "ready"


def _fuzz(operation: Any, target: Target) -> Iterator[str]:
    takes_something = {"parameters", "requestBody"} & set(operation.definition.raw)
    for mode in GenerationMode if takes_something else [GenerationMode.POSITIVE]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fuzzer's own
                _send(operation, mode, target)
        except Exception as error:
            yield f"{mode.value} {operation.label}: {error!r} {getattr(error, '__notes__', '')}"


def _send(operation: Any, mode: GenerationMode, target: Target) -> None:
    @settings_of(EXAMPLES // 2)
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            for name in set(target.ids) & set(case.path_parameters or {}):
                case.path_parameters[name] = target.ids[name]
        answer = case.call(base_url=target.url, headers=target.headers)
        target.answered.add((operation.label, answer.status_code))
        assert answer.status_code < 500, answer.text
        if answer.text == NOT_HTTP:
            return
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/json"], (answer.status_code, answer.text)
            fault(httpx2.Response(answer.status_code, content=answer.content))
        case.validate_response(answer, checks=CHECKS)

    send()


def settings_of(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
