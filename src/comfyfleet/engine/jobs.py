"""Queue and history as one list of jobs: what /api/jobs shows."""

from collections.abc import Iterator, Mapping
from typing import Any

from comfyfleet.engine.history import Entry
from comfyfleet.engine.queue import Queued

STATUSES = ("pending", "in_progress", "completed", "failed", "cancelled")
_PREVIEWABLE = ("images", "video", "audio", "3d", "text")
_ENDS = ("execution_success", "execution_error", "execution_interrupted")


def waiting_job(queued: Queued, status: str) -> dict[str, Any]:
    return _without_none(
        {
            "id": queued.prompt_id,
            "status": status,
            "priority": queued.number,
            "create_time": queued.extra_data.get("create_time"),
            "outputs_count": 0,
            "previewable_outputs_count": 0,
            "workflow_id": _workflow_id(queued.extra_data),
        }
    )


def finished_job(entry: Entry, *, whole: bool = False) -> dict[str, Any]:
    number, prompt_id, graph, extra_data, _ = entry.prompt
    told = dict(entry.messages)
    shown = list(_shown(entry.outputs))
    end = next((told[kind] for kind in _ENDS if kind in told), {})
    job = {
        "id": prompt_id,
        "status": status_of(entry),
        "priority": number,
        "create_time": extra_data.get("create_time"),
        "execution_start_time": told.get("execution_start", {}).get("timestamp"),
        "execution_end_time": end.get("timestamp"),
        "execution_error": told.get("execution_error"),
        "outputs_count": sum("filename" in each for each in shown),  # texts are shown, not counted
        "previewable_outputs_count": sum("filename" in each and _previewable(each) for each in shown),
        "preview_output": _preview(shown),
        "workflow_id": _workflow_id(extra_data),
    }
    if whole:
        job |= {
            "outputs": entry.outputs,
            "execution_status": entry.as_listed()["status"],
            "workflow": {"prompt": graph, "extra_data": extra_data},
        }
    return _without_none(job)


def status_of(entry: Entry) -> str:
    if entry.status_str == "success":
        return "completed"
    interrupted = any(kind == "execution_interrupted" for kind, _ in entry.messages)
    return "cancelled" if interrupted else "failed"


def duration_of(job: Mapping[str, Any]) -> int:
    return int(job.get("execution_end_time", 0)) - int(job.get("execution_start_time", 0))


def _shown(outputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every file (or text) an output node shows, with its node and its key."""
    for node_id, ui in outputs.items():
        for key, entries in ui.items():
            for entry in entries if key != "animated" else ():
                facts = entry if isinstance(entry, dict) else {"content": entry}
                yield {**facts, "nodeId": node_id, "mediaType": key}


def _previewable(shown: Mapping[str, Any]) -> bool:
    return shown["mediaType"] in _PREVIEWABLE


def _preview(shown: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first that was saved, else the first."""
    able = [each for each in shown if _previewable(each)]
    return next((each for each in able if each.get("type") == "output"), able[0] if able else None)


def _workflow_id(extra_data: Mapping[str, Any]) -> Any:
    workflow = (extra_data.get("extra_pnginfo") or {}).get("workflow") or {}
    return workflow.get("id") if isinstance(workflow, dict) else None


def _without_none(job: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in job.items() if value is not None}
