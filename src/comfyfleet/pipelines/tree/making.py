"""Where a candidate stands among the others, by name; and all that made it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from comfyfleet import jobs
from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import CandidateId, FileId, UserId
from comfyfleet.pipelines.model import Candidate
from comfyfleet.pipelines.names import extension_of, file_name
from comfyfleet.pipelines.read import read_pipeline, read_run
from comfyfleet.pipelines.tree.read import read_candidate


@dataclass(frozen=True, slots=True)
class Making:
    """`graph`: what the worker ran, every value in its place; None where it was deleted for its age."""

    candidate: Candidate
    effect: str | None
    workflow_version: int | None
    properties: Mapping[str, Any]
    graph: Mapping[str, Any] | None


async def read_making(tx: TenantTx, candidate_id: CandidateId, user_id: UserId) -> Making:
    candidate = await read_candidate(tx, candidate_id, user_id)
    job, payload = await jobs.read_whole(tx, candidate.job_id)
    return Making(candidate, job.effect_slug, job.workflow_version, job.properties or {}, payload.get("workflow"))


async def name_candidates(
    tx: TenantTx, found: Sequence[Candidate], user_id: UserId, media_types: Mapping[FileId, str]
) -> dict[CandidateId, str]:
    """`{target_folder}/{step}/{candidate}_{timestamp}.{ext}`. A file that is gone has no type any more."""
    named = {}
    runs = {run_id: await read_run(tx, run_id, user_id) for run_id in {each.run_id for each in found}}
    steps = {run_id: (await read_pipeline(tx, run.pipeline_id)).steps for run_id, run in runs.items()}
    for each in found:
        extension = extension_of(media_types.get(each.file_id))
        folder, step = runs[each.run_id].target_folder, steps[each.run_id][each.position].slug
        named[each.id] = file_name(folder, step, str(each.id), each.created_at, extension)
    return named
