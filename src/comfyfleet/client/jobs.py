"""Questions about jobs, effects and the wallet: each is one call and the shape of its answer."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import msgspec

from comfyfleet.client.ask import Patience, ask, ask_for
from comfyfleet.client.model import Effect, EffectRows, Job, JobRows, Page, Wallet
from comfyfleet.client.steps import CALL_S, Call, Flow
from comfyfleet.kernel.errors import InvalidInput

JSON = {"Content-Type": "application/json"}


def post(path: str, body: Mapping[str, Any], *, idle_s: float = CALL_S) -> Call:
    try:
        return Call("POST", path, headers=JSON, body=msgspec.json.encode(body), idle_s=idle_s)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InvalidInput("properties", f"hold what JSON cannot say: {problem}") from None


def job_path(job_id: str | UUID, *rest: str) -> str:
    """Only an id gets into a path."""
    try:
        return "/".join(["/api/ai-jobs", str(UUID(str(job_id))), *rest])
    except ValueError:
        raise InvalidInput("job_id", f"{job_id!r:.100} is no id of a job") from None


def create_job(
    effect: str | UUID,
    properties: Mapping[str, Any],
    patience: Patience,
    *,
    video_id: str | None = None,
    idempotency_key: str | None = None,
    priority: int = 0,
    webhook_url: str | None = None,
) -> Flow[Job]:
    """Made once, however often it is sent: the key is the same for all tries."""
    body = {
        ("effect_id" if isinstance(effect, UUID) else "effect"): effect,
        "video_id": video_id,
        "properties": properties,
        "idempotency_key": idempotency_key or str(uuid4()),
        "priority": priority,
        "webhook_url": webhook_url,
    }
    return ask_for(post("/api/ai-jobs", body), Job, patience)


def read_job(job_id: str | UUID, patience: Patience) -> Flow[Job]:
    return ask_for(Call("GET", job_path(job_id)), Job, patience)


def cancel_job(job_id: str | UUID, patience: Patience) -> Flow[Job]:
    return ask_for(post(job_path(job_id, "cancel"), {}), Job, patience)


def retry_job(job_id: str | UUID, patience: Patience, *, idempotency_key: str | None = None) -> Flow[Job]:
    body = {"idempotency_key": idempotency_key or str(uuid4())}
    return ask_for(post(job_path(job_id, "retry"), body), Job, patience)


def delete_job(job_id: str | UUID, patience: Patience) -> Flow[None]:
    # Gone already is as good: the answer to the first try may have been lost.
    yield from ask(Call("DELETE", job_path(job_id)), patience, also={404})


def list_jobs(patience: Patience, **wanted: str | int | None) -> Flow[Page[Job]]:
    found = yield from ask_for(Call("GET", "/api/ai-jobs", params=_given(wanted)), JobRows, patience)
    return Page(found.jobs, found.next_cursor)


def list_effects(patience: Patience, **wanted: str | int | None) -> Flow[Page[Effect]]:
    found = yield from ask_for(Call("GET", "/api/effects", params=_given(wanted)), EffectRows, patience)
    return Page(found.effects, found.next_cursor)


def read_effect(slug: str, patience: Patience) -> Flow[Effect]:
    if not slug or not slug.replace("-", "").isalnum() or not slug.isascii():
        raise InvalidInput("effect", f"{slug!r:.100} is no slug: lower-case letters, digits and '-'")
    return ask_for(Call("GET", f"/api/effects/{slug}"), Effect, patience)


def read_wallet(patience: Patience) -> Flow[Wallet]:
    return ask_for(Call("GET", "/api/wallet"), Wallet, patience)


def _given(wanted: Mapping[str, str | int | None]) -> dict[str, str | int]:
    return {name: value for name, value in wanted.items() if value is not None}
