"""Questions about pipelines and runs: each is one call and the shape of its answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from comfyfleet.client.ask import Patience, ask, ask_for
from comfyfleet.client.download import TellBytes, save_output
from comfyfleet.client.jobs import post
from comfyfleet.client.model import Output, Page, SavedOutput, Stored
from comfyfleet.client.runs_model import (
    Applied,
    Candidate,
    CandidateRows,
    Making,
    Pair,
    Pipeline,
    PipelineRows,
    Rejected,
    Retried,
    Run,
    RunJob,
    RunJobRows,
    RunRows,
    Vote,
    VoteRows,
)
from comfyfleet.client.steps import Call, Flow
from comfyfleet.kernel.errors import InvalidInput, NotFound

Id = str | UUID
PAGE_ROWS = 100


def path_of(kind: str, name: Id, *rest: str) -> str:
    """Only an id gets into a path."""
    try:
        return "/".join([f"/api/{kind}", str(UUID(str(name))), *rest])
    except ValueError:
        raise InvalidInput("id", f"{name!r:.100} is no id") from None


def run_path(run_id: Id, *rest: str) -> str:
    return path_of("pipeline-runs", run_id, *rest)


# ── pipelines ──


def apply_pipeline(said: Mapping[str, Any], patience: Patience) -> Flow[Applied]:
    return ask_for(post("/api/pipelines", said), Applied, patience)


def list_pipelines(patience: Patience, *, slug: str | None = None, cursor: str | None = None) -> Flow[Page[Pipeline]]:
    call = Call("GET", "/api/pipelines", params=_given(slug=slug, cursor=cursor, limit=PAGE_ROWS))
    found = yield from ask_for(call, PipelineRows, patience)
    return Page(found.pipelines, found.next_cursor)


def find_pipeline(name: Id, patience: Patience) -> Flow[Pipeline]:
    """By its id, or the newest version by its slug."""
    try:
        path = path_of("pipelines", name)
    except InvalidInput:
        page = yield from list_pipelines(patience, slug=str(name))
        if not page.rows:
            raise NotFound("pipeline", str(name)) from None
        return page.rows[0]
    return (yield from ask_for(Call("GET", path), Pipeline, patience))


def archive_pipeline(name: Id, patience: Patience) -> Flow[Pipeline]:
    pipeline = yield from find_pipeline(name, patience)
    yield from ask(Call("DELETE", path_of("pipelines", pipeline.id)), patience)
    return pipeline


# ── runs ──


def start_run(pipeline: Id, said: Mapping[str, Any], patience: Patience) -> Flow[Run]:
    """Started once, however often it is sent: the key is the same for all tries."""
    try:
        which = {"pipeline_id": str(UUID(str(pipeline)))}
    except ValueError:
        which = {"pipeline": str(pipeline)}
    given = {name: value for name, value in said.items() if value is not None}
    return ask_for(post("/api/pipeline-runs", {"idempotency_key": str(uuid4()), **which, **given}), Run, patience)


def list_runs(patience: Patience, *, status: str | None = None, cursor: str | None = None) -> Flow[Page[Run]]:
    call = Call("GET", "/api/pipeline-runs", params=_given(status=status, cursor=cursor, limit=PAGE_ROWS))
    found = yield from ask_for(call, RunRows, patience)
    return Page(found.runs, found.next_cursor)


def read_run(run_id: Id, patience: Patience) -> Flow[Run]:
    return ask_for(Call("GET", run_path(run_id)), Run, patience)


def tell_run(run_id: Id, verb: str, said: Mapping[str, Any], patience: Patience) -> Flow[Run]:
    """pause, resume, stop, budget, approve, reopen."""
    given = {name: value for name, value in said.items() if value is not None}
    return ask_for(post(run_path(run_id, verb), given), Run, patience)


def list_run_jobs(
    run_id: Id, patience: Patience, *, state: str | None = None, cursor: str | None = None
) -> Flow[Page[RunJob]]:
    call = Call("GET", run_path(run_id, "jobs"), params=_given(state=state, cursor=cursor, limit=PAGE_ROWS))
    found = yield from ask_for(call, RunJobRows, patience)
    return Page(found.jobs, found.next_cursor)


def retry_run_job(run_id: Id, job_id: Id, patience: Patience) -> Flow[Retried]:
    path = run_path(run_id, "jobs", path_of("ai-jobs", job_id).rpartition("/")[2], "retry")
    return ask_for(post(path, {}), Retried, patience)


# ── candidates ──


def list_candidates(
    run_id: Id, patience: Patience, *, position: int | None = None, cursor: str | None = None
) -> Flow[Page[Candidate]]:
    params = _given(position=position, cursor=cursor, limit=PAGE_ROWS)
    found = yield from ask_for(Call("GET", run_path(run_id, "candidates"), params=params), CandidateRows, patience)
    return Page(found.candidates, found.next_cursor)


def rank_candidates(
    run_id: Id, position: int, patience: Patience, *, cursor: str | None = None
) -> Flow[Page[Candidate]]:
    params = _given(position=position, cursor=cursor, limit=PAGE_ROWS)
    found = yield from ask_for(Call("GET", run_path(run_id, "ranking"), params=params), CandidateRows, patience)
    return Page(found.candidates, found.next_cursor)


def next_pair(run_id: Id, position: int, patience: Patience) -> Flow[Pair]:
    return ask_for(Call("GET", run_path(run_id, "pair"), params={"position": position}), Pair, patience)


def cast_vote(winner_id: Id, loser_id: Id, patience: Patience) -> Flow[Vote]:
    body = {"winner_id": str(winner_id), "loser_id": str(loser_id), "idempotency_key": str(uuid4())}
    return ask_for(post("/api/votes", body), Vote, patience)


def list_votes(run_id: Id, patience: Patience, *, cursor: str | None = None) -> Flow[Page[Vote]]:
    call = Call("GET", run_path(run_id, "votes"), params=_given(cursor=cursor, limit=PAGE_ROWS))
    found = yield from ask_for(call, VoteRows, patience)
    return Page(found.votes, found.next_cursor)


def read_candidate(candidate_id: Id, patience: Patience) -> Flow[Candidate]:
    return ask_for(Call("GET", path_of("candidates", candidate_id)), Candidate, patience)


def reject_candidate(candidate_id: Id, patience: Patience) -> Flow[Rejected]:
    return ask_for(post(path_of("candidates", candidate_id, "reject"), {}), Rejected, patience)


def read_making(candidate_id: Id, patience: Patience) -> Flow[Making]:
    return ask_for(Call("GET", path_of("candidates", candidate_id, "making")), Making, patience)


def save_candidate(candidate: Candidate, to: Path, patience: Patience, tell: TellBytes) -> Flow[SavedOutput]:
    """Its picture, to this very file."""
    stored = yield from ask_for(Call("GET", path_of("files", candidate.file_id)), Stored, patience)
    output = Output(stored.file.id, to.name, stored.file.mime_type, stored.file.size)
    return (yield from save_output(output, to, patience, tell))


def _given(**wanted: str | int | None) -> dict[str, str | int]:
    return {name: value for name, value in wanted.items() if value is not None}
