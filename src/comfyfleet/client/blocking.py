"""The client that blocks."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

import httpx2

from comfyfleet.client import download, jobs, order, upload
from comfyfleet.client.access import Access
from comfyfleet.client.ask import ATTEMPTS_MAX, Patience
from comfyfleet.client.events import Event, OnProgress, silent
from comfyfleet.client.follow import follow_job
from comfyfleet.client.hands import Hands
from comfyfleet.client.model import Effect, Job, Output, Page, SavedOutput, Video, Wallet
from comfyfleet.client.order import Order, merged
from comfyfleet.client.result import Made
from comfyfleet.client.runs_blocking import Pipelines, Runs
from comfyfleet.client.source import Given, read_source
from comfyfleet.client.steps import Flow, Play, Tell
from comfyfleet.client.transport import client_options

T = TypeVar("T")


@dataclass(frozen=True)
class Result(Made):
    _client: "Client" = field(repr=False, compare=False)

    def save(self, folder: str | Path = ".", *, on_progress: OnProgress = silent) -> list[SavedOutput]:
        """All outputs, under their own names. Nothing that is there is overwritten."""
        return self._client.save(self.job, folder, on_progress=on_progress)


class Client:
    """`with Client() as fleet: fleet.run("old-film", "clip.mp4", grain=0.4).save("out")`

    The address comes from COMFYFLEET_URL, the key from COMFYFLEET_API_KEY. Safe to share between threads.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, attempts_max: int = ATTEMPTS_MAX) -> None:
        self._access, self._patience = Access(url, key), Patience(attempts_max)
        self._http = httpx2.Client(**client_options())
        self.jobs = Jobs(self)
        self.pipelines, self.runs = Pipelines(self), Runs(self)

    def __repr__(self) -> str:
        return f"Client({self._access.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # ── effects ──

    def run(
        self,
        effect: str | UUID,
        input: Given | UUID | None = None,
        *,
        on_progress: OnProgress = silent,
        wait_s: float | None = None,
        previews: bool = False,
        input_name: str | None = None,
        idempotency_key: str | None = None,
        priority: int = 0,
        webhook_url: str | None = None,
        properties: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Result:
        """Upload, order, wait. `input` is a path, bytes, or the id of a video; `more` are the effect's properties.

        Raises JobFailed, JobCancelled, after `wait_s` seconds StillRunning, or what the server refuses.
        """
        wanted = Order(effect, input, merged(properties, more), input_name, idempotency_key, priority, webhook_url)
        flow = order.run(wanted, self._patience, on_progress, wait_s=wait_s, previews=previews)
        return Result(self._play(flow, on_progress), self)

    def submit(
        self,
        effect: str | UUID,
        input: Given | UUID | None = None,
        *,
        on_progress: OnProgress = silent,
        input_name: str | None = None,
        idempotency_key: str | None = None,
        priority: int = 0,
        webhook_url: str | None = None,
        properties: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Job:
        """As `run`, without the wait. A property that is called like an option goes into `properties`."""
        wanted = Order(effect, input, merged(properties, more), input_name, idempotency_key, priority, webhook_url)
        return self._play(order.submit(wanted, self._patience, on_progress), on_progress)

    def effects(self) -> list[Effect]:
        """Everything that can be ordered, newest first."""
        return list(self._rows(lambda cursor: jobs.list_effects(self._patience, cursor=cursor, limit=100)))

    def effect(self, slug: str) -> Effect:
        return self._play(jobs.read_effect(slug, self._patience))

    # ── jobs ──

    def job(self, job_id: str | UUID) -> Job:
        return self._play(jobs.read_job(job_id, self._patience))

    def watch(
        self, job_id: str | UUID, *, wait_s: float | None = None, previews: bool = False
    ) -> Generator[Event, None, None]:
        """What happens to a job, until it is over; from the beginning, as far as it is remembered."""
        return self._events(Play(follow_job(job_id, wait_s=wait_s, previews=previews)))

    def wait(
        self,
        job_id: str | UUID,
        *,
        on_progress: OnProgress = silent,
        wait_s: float | None = None,
        previews: bool = False,
    ) -> Result:
        """Raises JobFailed, JobCancelled, or after `wait_s` seconds StillRunning: then the job goes on."""
        return Result(self._play(order.wait(job_id, wait_s=wait_s, previews=previews), on_progress), self)

    def cancel(self, job_id: str | UUID) -> Job:
        """Queued: over and refunded at once. Running: its worker hears of it soon, and may be done first."""
        return self._play(jobs.cancel_job(job_id, self._patience))

    def retry(self, job_id: str | UUID, *, idempotency_key: str | None = None) -> Job:
        """The same again, as a new job."""
        return self._play(jobs.retry_job(job_id, self._patience, idempotency_key=idempotency_key))

    def save(self, job: Job, folder: str | Path = ".", *, on_progress: OnProgress = silent) -> list[SavedOutput]:
        """All outputs of a job, under their own names. Nothing that is there is overwritten."""
        return self._play(download.save_outputs(job, Path(folder), self._patience, on_progress))

    def download(self, output: Output, to: str | Path, *, on_progress: OnProgress = silent) -> SavedOutput:
        """One output, to this very file."""
        return self._play(download.save_output(output, Path(to), self._patience, on_progress))

    # ── the rest ──

    def upload(
        self,
        given: Given,
        *,
        name: str | None = None,
        media_type: str | None = None,
        title: str | None = None,
        on_progress: OnProgress = silent,
    ) -> Video:
        """A picture or a film, for any number of jobs."""
        source = read_source(given, name=name, media_type=media_type)
        return self._play(upload.upload_video(source, self._patience, on_progress, title=title))

    def wallet(self) -> Wallet:
        return self._play(jobs.read_wallet(self._patience))

    def address_of(self, url: str) -> str:
        """A URL that the API gave, as a browser takes it."""
        return self._access.absolute(url)

    # ── performing ──

    def _play(self, flow: Flow[T], on_progress: OnProgress = silent) -> T:
        play = Play(flow)
        with closing(self._events(play)) as events:
            for event in events:
                on_progress(event)
        return play.result

    def _events(self, play: Play[Any]) -> Generator[Event, None, None]:
        hands = Hands(self._http, self._access)
        try:
            while (step := play.step) is not None:
                if isinstance(step, Tell):
                    yield step.event
                    play.take(None)
                    continue
                try:
                    outcome = hands.perform(step)
                except Exception as error:
                    play.fail(error)
                else:
                    play.take(outcome)
        finally:
            hands.close()
            play.close()

    def _rows(self, ask: Callable[[str | None], Flow[Page[T]]]) -> Iterator[T]:
        cursor: str | None = None
        while True:
            page = self._play(ask(cursor))
            yield from page.rows
            cursor = page.next_cursor
            if cursor is None:
                return


class Jobs:
    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self, *, status: str | None = None, effect_id: str | None = None, limit: int = 50) -> Iterator[Job]:
        """One's own, newest first, all of them: a page of `limit` rows is asked for when the one before is used up."""
        return self._client._rows(
            lambda cursor: jobs.list_jobs(
                self._client._patience, cursor=cursor, status=status, effect_id=effect_id, limit=limit
            )
        )

    def page(
        self, cursor: str | None = None, *, status: str | None = None, effect_id: str | None = None, limit: int = 50
    ) -> Page[Job]:
        flow = jobs.list_jobs(self._client._patience, cursor=cursor, status=status, effect_id=effect_id, limit=limit)
        return self._client._play(flow)

    def delete(self, job_id: str | UUID) -> None:
        """Throw away a job that has ended, with what it made."""
        self._client._play(jobs.delete_job(job_id, self._client._patience))
