"""One job's way so far: what the journal has, where it stands, what it holds."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.pool.places import Place
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import ControlUnreachable
from comfyfleet.worker.journal import Entry, prompt_id_of
from comfyfleet.worker.leases import FreshUrls
from comfyfleet.worker.prepare import Asset, Mark
from comfyfleet.worker.stages import DELIVERING, ON_SERVER, Stage
from comfyfleet.worker.tools import Tools

RENEW_S = 120.0
# What the server is said to have of a prompt that it has taken and said nothing of.
SUBMITTED = "submitted"
TOOK = {
    Stage.FETCHING: "fetch",
    Stage.WAITING: "wait",
    Stage.SUBMITTING: "submit",
    Stage.QUEUED: "queued",
    Stage.RUNNING: "run",
    Stage.UPLOADING: "upload",
    Stage.ENDING: "complete",
}


class Course:
    def __init__(self, entry: Entry, tools: Tools, *, moved: Callable[[], None]) -> None:
        self.entry = entry
        self.tools = tools
        self.stage = Stage.LEASED
        self.place: Place | None = None
        self.may_be_posted = False  # by us, or by an earlier life
        self.may_have_begun = False
        self.posted = asyncio.Event()  # the server has answered the POST, or never will
        self.outcome_known = asyncio.Event()
        self.fraction = 0.0
        self._urls: dict[str, str] = {}
        self._urls_came = asyncio.Event()
        self.running_since: float | None = None
        self.took_s: float | None = None  # of a prompt that completed
        self.found_again = False  # an earlier life had posted it: nobody here saw it begin
        self.trace = tools.spans.of(entry)
        self._moved = moved
        self._since = time.monotonic()

    def to(self, stage: Stage) -> None:
        if stage is self.stage:
            return
        now = time.monotonic()
        if self.stage in TOOK:
            self.tools.telemetry.stage_took(TOOK[self.stage], now - self._since)
        if stage is Stage.RUNNING:
            self.running_since = now
        elif self.stage is Stage.RUNNING and self.place is not None:
            took_s = now - (self.running_since or now)
            self.took_s = took_s if stage is Stage.UPLOADING else None
            self.tools.telemetry.server_busy(self.place.server, took_s)
        self.stage, self._since = stage, now
        self.trace.at(stage)
        self.tools.book.note(self.entry.dispatch_id, status=stage.value)
        self._moved()

    async def write(self, **changes: Any) -> None:
        self.entry = msgspec.structs.replace(self.entry, **changes)
        await self.tools.journal.write(self.entry)

    async def choose_prompt(self, server: str) -> None:
        """On disk before the POST: whoever comes after a crash knows what to look for, and where."""
        nonce = self.entry.nonce or token_hex(8)
        await self.write(
            server=server,
            nonce=nonce,
            day=self.entry.day or datetime.now(UTC).date().isoformat(),
            prompt_id=prompt_id_of(self.entry.dispatch_id, epoch=self.entry.job.epoch, nonce=nonce),
        )
        self.tools.book.note(self.entry.dispatch_id, prompt_id=self.entry.prompt_id)
        self.hear_log()

    @property
    def provider_job_id(self) -> str | None:
        """What the provider calls its prompt. A cloud gives it a name of its own, which people look for there."""
        prompt_id, connector = self.entry.prompt_id, self.tools.servers.connector(self.entry.server or "")
        return prompt_id if prompt_id is None or connector is None else connector.own_id(prompt_id)

    def begin_fetching(self) -> None:
        self.to(Stage.FETCHING)
        left_s = self.entry.leased_at + self.job.url_seconds - time.time()
        if self.job.url_seconds:
            self.tools.book.note(self.entry.dispatch_id, urls_end_at=time.monotonic() + left_s)

    def end_fetching(self) -> None:
        self.tools.book.note(self.entry.dispatch_id, urls_end_at=None)
        self.to(Stage.WAITING)

    def take_urls(self, fresh: FreshUrls) -> None:
        self._urls |= fresh.urls
        self._urls_came.set()
        self.tools.book.note(self.entry.dispatch_id, urls_end_at=time.monotonic() + fresh.life_s)

    async def renew(self, asset: Asset) -> str:
        """A fresh URL for it: one that came with a heartbeat, or that is asked for now."""
        if asset.name not in self._urls:
            self._urls_came.clear()
            self.tools.book.want_urls(self.entry.dispatch_id)
            try:
                async with asyncio.timeout(RENEW_S):
                    await self._urls_came.wait()
            except TimeoutError:
                url = self.tools.control.session.url
                raise ControlUnreachable(url, problem=f"no fresh URLs came within {seconds_text(RENEW_S)}") from None
        return self._urls.pop(asset.name, asset.url)

    def give_up_place(self) -> None:
        if self.place is not None:
            self.place.give_up()

    @property
    def job(self) -> wire.Job:
        return self.entry.job

    def hear_log(self) -> None:
        """What its server logs while it runs goes to whoever watches."""
        if self.entry.prompt_id is not None:
            self.tools.reporter.hears(self.entry.prompt_id, lambda: self.proof)

    def say(self, line: str) -> None:
        """To whoever watches: users, too, so no path and no server's name."""
        self.tools.reporter.log(self.proof, line)

    def is_posted(self) -> None:
        """The server has the prompt, or may have it."""
        self.to(Stage.QUEUED)
        self.posted.set()
        self.tools.book.note(self.entry.dispatch_id, prompt_id=self.provider_job_id, status=SUBMITTED)
        if self.job_takes("service_times"):
            self.tools.book.submitted(self.entry.dispatch_id)

    def is_found_again(self) -> None:
        """An earlier life had posted it."""
        self.found_again = True
        self.to(Stage.QUEUED)
        self.posted.set()

    def recall_times(self) -> None:
        """What an earlier life knew of the server, for the reports of this one."""
        book, entry, now = self.tools.book, self.entry, time.time()
        if entry.posted_at is not None and self.job_takes("service_times"):
            book.submitted(entry.dispatch_id, ago_s=max(0.0, now - entry.posted_at))
        if entry.checked_at is not None and self.job_takes("service_times"):
            book.checked(entry.dispatch_id, ago_s=max(0.0, now - entry.checked_at))

    def job_takes(self, field: str) -> bool:
        """Whether the control plane that leased it knows a field that came later."""
        return field in self.job.takes

    @property
    def proof(self) -> wire.LeaseProof:
        return self.entry.proof

    async def folder(self) -> Path:
        return await self.tools.folders.open(self.entry.dispatch_id, self.job.epoch)

    @property
    def mark(self) -> Mark | None:
        if self.entry.nonce is None or self.entry.day is None:
            return None
        return Mark(self.entry.nonce, date.fromisoformat(self.entry.day))

    @property
    def deadline_left_s(self) -> float:
        return self.entry.leased_at + self.job.deadline_seconds - time.time()

    @property
    def is_delivering(self) -> bool:
        return self.stage in DELIVERING

    @property
    def is_on_server(self) -> bool:
        return self.stage in ON_SERVER

    @property
    def ran_s(self) -> float:
        return 0.0 if self.running_since is None else time.monotonic() - self.running_since
