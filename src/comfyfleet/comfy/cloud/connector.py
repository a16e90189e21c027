"""Comfy Cloud behind the same interface as a ComfyUI of one's own.

What differs: the cloud names jobs itself (both names work here, ours and its), it tells no steps or previews when it
is asked instead of listened to, subfolders mean nothing to it, and it has nothing to free.
"""

import os
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from comfyfleet.comfy import answers
from comfyfleet.comfy.cloud.cancel import Cancellation
from comfyfleet.comfy.cloud.client import CLOUD_URL, CloudClient, CloudLimits
from comfyfleet.comfy.cloud.clock import Clock, SystemClock
from comfyfleet.comfy.cloud.errors import KEY_VARIABLE, KeyMissing
from comfyfleet.comfy.cloud.jobs import find_by_mark, read_entry, read_position, read_status
from comfyfleet.comfy.cloud.patience import Patience
from comfyfleet.comfy.cloud.status import JobState
from comfyfleet.comfy.cloud.submit import Submission
from comfyfleet.comfy.cloud.upload import upload_file
from comfyfleet.comfy.cloud.watch import JobWatch, Polling
from comfyfleet.comfy.errors import OutputGone
from comfyfleet.comfy.fetch import Tell, keep, words_of
from comfyfleet.comfy.model import (
    OUTCOMES,
    Absent,
    Failed,
    FailureClass,
    FetchedFile,
    Finished,
    Found,
    HistoryEntry,
    Outcome,
    OutputFile,
    Pending,
    Prompt,
    Returned,
    Running,
    ServerFacts,
    Submitted,
    Update,
    UploadedFile,
    UploadKind,
)
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.kernel.secret import Secret

KEY_VARIABLES = (KEY_VARIABLE, f"COMFYFLEET_{KEY_VARIABLE}")
NAMES_KEPT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class CloudSettings:
    url: str = CLOUD_URL
    limits: CloudLimits = field(default_factory=CloudLimits)
    polling: Polling = field(default_factory=Polling)
    look_for_s: float = 30.0  # how long a submission without an answer is looked for
    cancel_s: float = 30.0  # how long a cancellation may take until it shows
    fetches_max: int = 3


DEFAULT_SETTINGS = CloudSettings()


def key_from_environment(environment: Mapping[str, str] = os.environ) -> Secret:
    found = next((environment[name].strip() for name in KEY_VARIABLES if environment.get(name, "").strip()), None)
    if found is None:
        raise KeyMissing
    return Secret(found)


def _proxy_for(url: str) -> str | None:
    """The surroundings' own: unlike one's servers, the cloud is out on the internet."""
    host = urlsplit(url).hostname or ""
    return None if is_loopback(host) or proxy_bypass(host) else getproxies().get("https")


class CloudConnector:
    provider = "cloud"
    online = True  # there is no connection to lose; each request says for itself whether the cloud is there

    def __init__(
        self,
        key: Secret | None = None,
        *,
        settings: CloudSettings = DEFAULT_SETTINGS,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._chance = chance
        self._client = CloudClient(
            key or key_from_environment(),
            url=settings.url,
            limits=settings.limits,
            clock=self._clock,
            proxy=_proxy_for(settings.url),
        )
        self._patience = Patience(self._clock, chance=chance)
        self._submission = Submission(self._client, self._clock, self._patience, settings.look_for_s)
        self._cancellation = Cancellation(self._client, self._clock, self._patience, settings.cancel_s)
        self._names: OrderedDict[str, str] = OrderedDict()  # ours to the cloud's
        self._cancelled: OrderedDict[str, None] = OrderedDict()

    @property
    def name(self) -> str:
        return self._client.server

    def __repr__(self) -> str:
        return f"CloudConnector({self.name!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.close()

    @property
    def refused(self) -> bool:
        return False

    def follow(self, tell: Callable[[bool], None]) -> Callable[[], None]:
        return lambda: None

    async def upload(
        self,
        source: Path | bytes,
        *,
        name: str,
        kind: UploadKind = "image",
        subfolder: str = "",
        original: UploadedFile | None = None,
    ) -> UploadedFile:
        """Stored by content: the name that comes back is a hash, and a subfolder means nothing.

        A mask with an `original` becomes that picture's transparency; without one it is a picture of its own.
        """
        laid_over = original if kind == "mask" else None
        return await self._patience.ask(lambda: upload_file(self._client, source, name=name, original=laid_over))

    async def submit(self, prompt: Prompt) -> Submitted:
        """The cloud's own id comes back; a second copy is never posted while a first may exist."""
        submitted = await self._submission.submit(prompt)
        _remember(self._names, prompt.prompt_id, submitted.prompt_id)
        return submitted

    def own_id(self, prompt_id: str) -> str:
        return self._names.get(prompt_id, prompt_id)

    async def watch(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[Update | Outcome]:
        ends_at = self._clock.monotonic() + deadline_s
        try:
            job_id = await self._job_id_until(ends_at, prompt.prompt_id)
        except Unavailable as error:
            yield Failed(FailureClass.TIMEOUT, error.message)
            return
        except FleetError as error:
            yield Failed(FailureClass.SERVER_FAULT, error.message)
            return
        if job_id is None:
            yield Returned("Comfy Cloud does not know the job.", not_found=True)
            return
        watch = JobWatch(
            client=self._client,
            clock=self._clock,
            polling=self._settings.polling,
            job_id=job_id,
            prompt=prompt,
            ends_at=ends_at,
            we_cancelled=lambda: job_id in self._cancelled,
            chance=self._chance,
        )
        async for update in watch.updates():
            yield update
            if isinstance(update, OUTCOMES):
                return
        yield await self._overdue(job_id, deadline_s)

    async def _overdue(self, job_id: str, deadline_s: float) -> Outcome:
        # It would go on and cost. That it does not stop is no reason to wait longer.
        with suppress(FleetError):
            await self.cancel(job_id)
        return Failed(
            FailureClass.TIMEOUT, f"The job was not done within {seconds_text(deadline_s)} and has been cancelled."
        )

    async def fetch(self, output: OutputFile, to: Path, *, tell: Tell | None = None) -> FetchedFile:
        if output.text is not None:
            return await keep(output, to, words_of(output.text))
        for attempt in range(1, self._settings.fetches_max):
            try:
                return await self._patience.ask(lambda: self._fetch(output, to))
            except Unavailable:
                await self._clock.sleep(backoff_s(attempt, chance=self._chance()))
        return await self._patience.ask(lambda: self._fetch(output, to))

    async def cancel(self, prompt_id: str) -> bool:
        job_id = await self._patience.ask(lambda: self._job_id(prompt_id))
        if job_id is None:
            return False
        _remember(self._cancelled, job_id, None)
        return await self._cancellation.cancel(job_id)

    async def forget(self, prompt_id: str) -> None:
        job_id = await self._patience.ask(lambda: self._job_id(prompt_id))
        if job_id is not None:
            body = {"delete": [job_id]}
            await self._patience.ask(lambda: self._client.ask("POST", "/api/history", body=body))

    async def find(self, prompt_id: str) -> Found:
        return await self._patience.ask(lambda: self._find(prompt_id))

    async def free(self) -> None:
        """Nothing to do: the machines are not ours."""

    async def describe(self) -> ServerFacts:
        return answers.read_stats(await self._patience.ask(lambda: self._client.ask("GET", "/api/system_stats")))

    async def object_info(self, node_class: str | None = None) -> Mapping[str, Any]:
        answer = await self._patience.ask(lambda: self._client.ask("GET", "/api/object_info"))
        known = answer.decode(dict[str, Any])
        return known if node_class is None else {name: facts for name, facts in known.items() if name == node_class}

    async def _job_id(self, prompt_id: str) -> str | None:
        """What the cloud calls it. A process that starts anew knows only our name, and asks for the other."""
        if prompt_id in self._names:
            return self._names[prompt_id]
        if await read_status(self._client, prompt_id) is not None:
            return prompt_id
        job_id = await find_by_mark(self._client, prompt_id)
        if job_id is not None:
            _remember(self._names, prompt_id, job_id)
        return job_id

    async def _job_id_until(self, ends_at: float, prompt_id: str) -> str | None:
        look = 0
        while True:
            try:
                return await self._patience.ask(lambda: self._job_id(prompt_id))
            except Unavailable:
                look += 1
                wait_s = self._settings.polling.interval_s(look, chance=self._chance())
                if self._clock.monotonic() + wait_s > ends_at:
                    raise
            await self._clock.sleep(wait_s)

    async def _find(self, prompt_id: str) -> Found:
        job_id = await self._job_id(prompt_id)
        status = None if job_id is None else await read_status(self._client, job_id)
        if job_id is None or status is None:
            return Absent()
        match status.state:
            case JobState.WAITING:
                return Pending(await read_position(self._client, job_id))
            case JobState.RUNNING:
                return Running()
            case JobState.LOST:
                return Absent()
            case _:
                entry = await read_entry(self._client, job_id)
                return Finished(entry or HistoryEntry(job_id, status.state.value, None, (), {}))

    async def _fetch(self, output: OutputFile, to: Path) -> FetchedFile:
        params = {"filename": output.filename, "subfolder": output.subfolder, "type": output.type}
        async with self._client.view(params) as pieces:
            if pieces is None:
                raise OutputGone(self.name, output=output)
            return await keep(output, to, pieces)


def _remember(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    known[key] = value
    if len(known) > NAMES_KEPT_MAX:
        known.popitem(last=False)
