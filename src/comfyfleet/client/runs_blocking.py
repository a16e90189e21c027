"""Pipelines and runs, for the client that blocks. The same words as for the other."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comfyfleet.client import runs
from comfyfleet.client.events import OnProgress, silent
from comfyfleet.client.model import Job, SavedOutput
from comfyfleet.client.runs import Id
from comfyfleet.client.runs_model import Applied, Candidate, Making, Pipeline, Rejected, Run, RunJob, Vote

if TYPE_CHECKING:
    from comfyfleet.client.blocking import Client

list_of = list  # the classes below have a `list` of their own


class Pipelines:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def apply(self, said: Mapping[str, Any]) -> Applied:
        """As it stands in a YAML file. Unchanged, it stays as it is; changed, it is a new version."""
        return self._client._play(runs.apply_pipeline(said, self._client._patience))

    def list(self, *, slug: str | None = None) -> Iterator[Pipeline]:
        """The newest version of each; with `slug`, all versions of that one."""
        return self._client._rows(lambda cursor: runs.list_pipelines(self._client._patience, slug=slug, cursor=cursor))

    def find(self, name: Id) -> Pipeline:
        """By its id, or the newest version by its slug."""
        return self._client._play(runs.find_pipeline(name, self._client._patience))

    def archive(self, name: Id) -> Pipeline:
        """No run is started with it any more."""
        return self._client._play(runs.archive_pipeline(name, self._client._patience))


class Runs:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def start(self, pipeline: Id, **said: Any) -> Run:
        """With `target_folder`, `variants`, `top`, `variables`, and whatever else the API takes."""
        return self._client._play(runs.start_run(pipeline, said, self._client._patience))

    def list(self, *, status: str | None = None) -> Iterator[Run]:
        """One's own, newest first."""
        return self._client._rows(lambda cursor: runs.list_runs(self._client._patience, status=status, cursor=cursor))

    def read(self, run_id: Id) -> Run:
        return self._client._play(runs.read_run(run_id, self._client._patience))

    def approve(self, run_id: Id, position: int, *, top: int | None = None) -> Run:
        """Open the gate behind a step, for its best."""
        return self._tell(run_id, "approve", position=position, top=top)

    def reopen(self, run_id: Id, position: int) -> Run:
        """Take an approval back."""
        return self._tell(run_id, "reopen", position=position)

    def pause(self, run_id: Id) -> Run:
        return self._tell(run_id, "pause")

    def resume(self, run_id: Id) -> Run:
        return self._tell(run_id, "resume")

    def stop(self, run_id: Id) -> Run:
        """For good."""
        return self._tell(run_id, "stop")

    def budget(
        self, run_id: Id, *, tokens_max: int | None = None, jobs_max: int | None = None, hours: float | None = None
    ) -> Run:
        """New limits, for those that are named; `hours` from now on."""
        return self._tell(run_id, "budget", tokens_max=tokens_max, jobs_max=jobs_max, hours=hours)

    def jobs(self, run_id: Id, *, state: str | None = None) -> Iterator[RunJob]:
        """Newest first; `failed` for those that can be tried again."""
        return self._client._rows(
            lambda cursor: runs.list_run_jobs(run_id, self._client._patience, state=state, cursor=cursor)
        )

    def retry(self, run_id: Id, job_id: Id) -> str:
        """A job that failed, once more in its place. The new job's id."""
        return self._client._play(runs.retry_run_job(run_id, job_id, self._client._patience)).job_id

    def candidates(self, run_id: Id, *, position: int | None = None) -> Iterator[Candidate]:
        """As they were made."""
        return self._client._rows(
            lambda cursor: runs.list_candidates(run_id, self._client._patience, position=position, cursor=cursor)
        )

    def ranking(self, run_id: Id, position: int) -> Iterator[Candidate]:
        """Of one step, the best first."""
        return self._client._rows(
            lambda cursor: runs.rank_candidates(run_id, position, self._client._patience, cursor=cursor)
        )

    def pair(self, run_id: Id, position: int) -> list_of[Candidate]:
        """Which two to compare next; none where there are not two."""
        return self._client._play(runs.next_pair(run_id, position, self._client._patience)).pair

    def vote(self, winner_id: Id, loser_id: Id) -> Vote:
        return self._client._play(runs.cast_vote(winner_id, loser_id, self._client._patience))

    def votes(self, run_id: Id) -> Iterator[Vote]:
        """As they were cast."""
        return self._client._rows(lambda cursor: runs.list_votes(run_id, self._client._patience, cursor=cursor))

    def candidate(self, candidate_id: Id) -> Candidate:
        return self._client._play(runs.read_candidate(candidate_id, self._client._patience))

    def reject(self, candidate_id: Id) -> Rejected:
        """It, and all that was made of it."""
        return self._client._play(runs.reject_candidate(candidate_id, self._client._patience))

    def making(self, candidate_id: Id) -> Making:
        """The exact graph and seed that made it."""
        return self._client._play(runs.read_making(candidate_id, self._client._patience))

    def save(self, candidate: Candidate, to: str | Path, *, on_progress: OnProgress = silent) -> SavedOutput:
        """Its picture, to this very file."""
        return self._client._play(
            runs.save_candidate(candidate, Path(to), self._client._patience, on_progress), on_progress
        )

    def replay(self, candidate_id: Id) -> Job:
        """Make it again, from its own graph and seed: an ordinary job, outside the run."""
        candidate = self.candidate(candidate_id)
        return self._client.retry(candidate.job_id)

    def _tell(self, run_id: Id, verb: str, **said: Any) -> Run:
        return self._client._play(runs.tell_run(run_id, verb, said, self._client._patience))
