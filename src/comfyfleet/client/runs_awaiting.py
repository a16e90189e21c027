"""Pipelines and runs, for the client that awaits. The same words as for the other."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comfyfleet.client import runs
from comfyfleet.client.events import OnProgress, silent
from comfyfleet.client.model import Job, SavedOutput
from comfyfleet.client.runs import Id
from comfyfleet.client.runs_model import Applied, Candidate, Making, Pipeline, Rejected, Run, RunJob, Vote

if TYPE_CHECKING:
    from comfyfleet.client.awaiting import AsyncClient

list_of = list  # the classes below have a `list` of their own


class AsyncPipelines:
    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def apply(self, said: Mapping[str, Any]) -> Applied:
        """As it stands in a YAML file. Unchanged, it stays as it is; changed, it is a new version."""
        return await self._client._play(runs.apply_pipeline(said, self._client._patience))

    def list(self, *, slug: str | None = None) -> AsyncIterator[Pipeline]:
        """The newest version of each; with `slug`, all versions of that one."""
        return self._client._rows(lambda cursor: runs.list_pipelines(self._client._patience, slug=slug, cursor=cursor))

    async def find(self, name: Id) -> Pipeline:
        """By its id, or the newest version by its slug."""
        return await self._client._play(runs.find_pipeline(name, self._client._patience))

    async def archive(self, name: Id) -> Pipeline:
        """No run is started with it any more."""
        return await self._client._play(runs.archive_pipeline(name, self._client._patience))


class AsyncRuns:
    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def start(self, pipeline: Id, **said: Any) -> Run:
        """With `target_folder`, `variants`, `top`, `variables`, and whatever else the API takes."""
        return await self._client._play(runs.start_run(pipeline, said, self._client._patience))

    def list(self, *, status: str | None = None) -> AsyncIterator[Run]:
        """One's own, newest first."""
        return self._client._rows(lambda cursor: runs.list_runs(self._client._patience, status=status, cursor=cursor))

    async def read(self, run_id: Id) -> Run:
        return await self._client._play(runs.read_run(run_id, self._client._patience))

    async def approve(self, run_id: Id, position: int, *, top: int | None = None) -> Run:
        """Open the gate behind a step, for its best."""
        return await self._tell(run_id, "approve", position=position, top=top)

    async def reopen(self, run_id: Id, position: int) -> Run:
        """Take an approval back."""
        return await self._tell(run_id, "reopen", position=position)

    async def pause(self, run_id: Id) -> Run:
        return await self._tell(run_id, "pause")

    async def resume(self, run_id: Id) -> Run:
        return await self._tell(run_id, "resume")

    async def stop(self, run_id: Id) -> Run:
        """For good."""
        return await self._tell(run_id, "stop")

    async def budget(
        self, run_id: Id, *, tokens_max: int | None = None, jobs_max: int | None = None, hours: float | None = None
    ) -> Run:
        """New limits, for those that are named; `hours` from now on."""
        return await self._tell(run_id, "budget", tokens_max=tokens_max, jobs_max=jobs_max, hours=hours)

    def jobs(self, run_id: Id, *, state: str | None = None) -> AsyncIterator[RunJob]:
        """Newest first; `failed` for those that can be tried again."""
        return self._client._rows(
            lambda cursor: runs.list_run_jobs(run_id, self._client._patience, state=state, cursor=cursor)
        )

    async def retry(self, run_id: Id, job_id: Id) -> str:
        """A job that failed, once more in its place. The new job's id."""
        return (await self._client._play(runs.retry_run_job(run_id, job_id, self._client._patience))).job_id

    def candidates(self, run_id: Id, *, position: int | None = None) -> AsyncIterator[Candidate]:
        """As they were made."""
        return self._client._rows(
            lambda cursor: runs.list_candidates(run_id, self._client._patience, position=position, cursor=cursor)
        )

    def ranking(self, run_id: Id, position: int) -> AsyncIterator[Candidate]:
        """Of one step, the best first."""
        return self._client._rows(
            lambda cursor: runs.rank_candidates(run_id, position, self._client._patience, cursor=cursor)
        )

    async def pair(self, run_id: Id, position: int) -> list_of[Candidate]:
        """Which two to compare next; none where there are not two."""
        return (await self._client._play(runs.next_pair(run_id, position, self._client._patience))).pair

    async def vote(self, winner_id: Id, loser_id: Id) -> Vote:
        return await self._client._play(runs.cast_vote(winner_id, loser_id, self._client._patience))

    def votes(self, run_id: Id) -> AsyncIterator[Vote]:
        """As they were cast."""
        return self._client._rows(lambda cursor: runs.list_votes(run_id, self._client._patience, cursor=cursor))

    async def candidate(self, candidate_id: Id) -> Candidate:
        return await self._client._play(runs.read_candidate(candidate_id, self._client._patience))

    async def reject(self, candidate_id: Id) -> Rejected:
        """It, and all that was made of it."""
        return await self._client._play(runs.reject_candidate(candidate_id, self._client._patience))

    async def making(self, candidate_id: Id) -> Making:
        """The exact graph and seed that made it."""
        return await self._client._play(runs.read_making(candidate_id, self._client._patience))

    async def save(self, candidate: Candidate, to: str | Path, *, on_progress: OnProgress = silent) -> SavedOutput:
        """Its picture, to this very file."""
        return await self._client._play(
            runs.save_candidate(candidate, Path(to), self._client._patience, on_progress), on_progress
        )

    async def replay(self, candidate_id: Id) -> Job:
        """Make it again, from its own graph and seed: an ordinary job, outside the run."""
        candidate = await self.candidate(candidate_id)
        return await self._client.retry(candidate.job_id)

    async def _tell(self, run_id: Id, verb: str, **said: Any) -> Run:
        return await self._client._play(runs.tell_run(run_id, verb, said, self._client._patience))
