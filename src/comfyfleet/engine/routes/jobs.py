"""/api/jobs: one list over queue and history, and cancelling in any state."""

import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.engine.jobs import STATUSES, duration_of, finished_job, waiting_job
from comfyfleet.engine.routes.answers import body_as_json, engine_of, json_answer


class _BadQuery(Exception):
    """A parameter that the list does not know."""


async def get_jobs(request: Request) -> Response:
    try:
        return _list_jobs(request)
    except _BadQuery as error:
        return json_answer({"error": str(error)}, 400)


def _list_jobs(request: Request) -> Response:
    query = request.query_params
    wanted = _wanted_statuses(query.get("status"))
    sort_by = _one_of("sort_by", query.get("sort_by", "created_at"), ("created_at", "execution_duration"))
    order = _one_of("sort_order", query.get("sort_order", "desc"), ("asc", "desc"))
    limit, offset = _whole(query.get("limit"), "limit"), _whole(query.get("offset"), "offset") or 0
    if limit is not None and limit <= 0:
        raise _BadQuery("limit must be a positive integer")
    jobs = [job for job in _all_jobs(request) if job["status"] in wanted]
    if (workflow_id := query.get("workflow_id")) is not None:
        jobs = [job for job in jobs if job.get("workflow_id") == workflow_id]
    key = duration_of if sort_by == "execution_duration" else (lambda job: job.get("create_time", 0))
    jobs.sort(key=key, reverse=order == "desc")
    page = jobs[max(0, offset) : None if limit is None else max(0, offset) + limit]
    has_more = max(0, offset) + len(page) < len(jobs)
    pagination = {"offset": max(0, offset), "limit": limit, "total": len(jobs), "has_more": has_more}
    return json_answer({"jobs": page, "pagination": pagination})


def _all_jobs(request: Request) -> list[dict[str, Any]]:
    running, pending, finished = engine_of(request).queue.look()
    return [
        *(waiting_job(each, "in_progress") for each in running),
        *(waiting_job(each, "pending") for each in pending),
        *(finished_job(each) for each in finished),
    ]


def _wanted_statuses(given: str | None) -> tuple[str, ...]:
    if given is None:
        return STATUSES
    wanted = tuple(word.strip().lower() for word in given.split(",") if word.strip())
    unknown = [word for word in wanted if word not in STATUSES]
    if unknown:
        raise _BadQuery(f"Invalid status value(s): {', '.join(unknown)}. Valid values: {', '.join(STATUSES)}")
    return wanted


def _one_of(name: str, given: str, known: tuple[str, str]) -> str:
    if given.lower() not in known:
        raise _BadQuery(f"{name} must be '{known[0]}' or '{known[1]}'")
    return given.lower()


def _whole(given: str | None, name: str) -> int | None:
    try:
        return None if given is None else int(given)
    except ValueError:
        raise _BadQuery(f"{name} must be an integer") from None


async def get_job(request: Request) -> Response:
    """History before queue, as the real one: while an id runs again, the old end is shown."""
    job_id = request.path_params["job_id"]
    running, pending, _ = engine_of(request).queue.look()
    entry = engine_of(request).history.get(job_id)
    if entry is not None:
        return json_answer(finished_job(entry, whole=True))
    for status, group in (("in_progress", running), ("pending", pending)):
        for queued in group:
            if queued.prompt_id == job_id:
                return json_answer(waiting_job(queued, status))
    return json_answer({"error": "Job not found"}, 404)


async def post_cancel(request: Request) -> Response:
    return json_answer({"cancelled": engine_of(request).queue.cancel([request.path_params["job_id"]])})


async def post_cancel_many(request: Request) -> Response:
    try:
        body = await body_as_json(request)
    except ValueError:
        return json_answer({"error": "Request body must be valid JSON"}, 400)
    job_ids = body.get("job_ids") if isinstance(body, dict) else None
    if not isinstance(job_ids, list):
        return json_answer({"error": "job_ids must be a list"}, 400)
    invalid = [job_id for job_id in job_ids if not _is_uuid(job_id)]
    if invalid:
        return json_answer({"error": "job_ids contains invalid id(s)", "invalid_ids": invalid}, 400)
    return json_answer({"cancelled": engine_of(request).queue.cancel(job_ids)})


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False
