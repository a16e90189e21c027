"""A user's request becomes a job: paid for, and on its way to the queue."""

import json
import re
from collections.abc import Sequence
from typing import Any

from comfyfleet import ledger
from comfyfleet.db import TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.model import Job, NewJob
from comfyfleet.kernel.errors import DuplicateKey, InvalidInput

PAYLOAD_BYTES_MAX = 6 * 1024**2
# PostgreSQL keeps no text with a NUL in it. An even number of backslashes before it are backslashes.
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


async def create_job(tx: TenantTx, new: NewJob) -> Job:
    """Job, reservation and submission stand or fall together. The same id again is the job that is there.

    Raises InsufficientTokens; the caller's transaction must then not commit.
    """
    return (await create_jobs(tx, [new]))[0]


async def create_jobs(tx: TenantTx, news: Sequence[NewJob]) -> list[Job]:
    """All of them, or none; a thousand cost hardly more than one."""
    rows = await tx.all_each(sql.insert_jobs(), [_row(new) for new in news])
    made = {row.id: Job.from_row(row) for row in rows}
    for user_id in {new.user_id for new in news}:
        amounts = {new.id: new.reserved_tokens for new in news if new.id in made and new.user_id == user_id}
        await ledger.reserve_each(tx, user_id, amounts)
    if made:
        traces = {new.id: new.traceparent for new in news}
        submissions = [{"job_id": job_id, "traceparent": traces[job_id]} for job_id in made]
        await tx.run_each(sql.insert_submissions(), submissions)
    return [made.get(new.id) or await _find_same(tx, new) for new in news]


def _row(new: NewJob) -> dict[str, Any]:
    given = {name: getattr(new, name) for name in sql.NEW if name != "payload"}
    return {**given, "payload": build_payload(new)}


def build_payload(new: NewJob) -> dict[str, Any]:
    """What the worker will receive, whole; what was not given is there and empty."""
    empty: dict[str, Any] = {"workflow": {}, "properties": {}, "assets": [], "input_url": None, "outputs": []}
    payload = {**empty, **new.payload, "job_id": str(new.id)}
    try:
        text = json.dumps(payload, allow_nan=False, ensure_ascii=False)
        size_bytes = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("payload", "is not JSON") from None
    if size_bytes > PAYLOAD_BYTES_MAX:
        raise InvalidInput("payload", f"has more than {PAYLOAD_BYTES_MAX} bytes")
    if NUL.search(text):
        raise InvalidInput("payload", "must not hold NUL characters")
    return payload


async def _find_same(tx: TenantTx, new: NewJob) -> Job:
    row = await tx.maybe(sql.by_id(new.id))
    if row is None or (row.user_id, row.workflow_id, row.reserved_tokens) != (
        new.user_id,
        new.workflow_id,
        new.reserved_tokens,
    ):
        # Another tenant's, or another request: the id says nothing about whose.
        raise DuplicateKey(str(new.id))
    return Job.from_row(row)
