"""The jobs of this worker: how many run, which are ahead, which only deliver."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from uuid import UUID

import structlog

from comfyfleet.kernel.errors import Superseded
from comfyfleet.worker.journal import Entry
from comfyfleet.worker.run_job import JobRun
from comfyfleet.worker.stages import NOT_BEGUN
from comfyfleet.worker.tools import Tools

# Somebody idle wanted what was ahead here: what comes next is theirs, too.
NO_AHEAD_S = 3.0
STRUCTURES_MAX = 1000

log = structlog.get_logger()


class UnderWay:
    """`changed` is set by whatever may let another job in, or send one back."""

    def __init__(self, tools: Tools, *, on_superseded: Callable[[], None]) -> None:
        self._tools = tools
        self._on_superseded = on_superseded
        self._runs: dict[UUID, JobRun] = {}
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self.changed = asyncio.Event()
        self.notices = asyncio.Event()  # set: a lease is held whose control plane answers `notices`
        self._no_ahead_until = 0.0
        self._took_s: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[JobRun]:
        return iter(tuple(self._runs.values()))

    def __contains__(self, dispatch_id: UUID) -> bool:
        return dispatch_id in self._runs

    def begin(self, entry: Entry) -> None:
        run = JobRun(entry, self._tools, moved=self.look, wanted_back=self._rest_ahead)
        self._runs[entry.dispatch_id] = run
        self._tools.telemetry.lease_taken()
        self.look()
        self._tasks[entry.dispatch_id] = asyncio.create_task(self._run(run), name=f"job {entry.dispatch_id}")

    async def _run(self, run: JobRun) -> None:
        dispatch_id = run.course.entry.dispatch_id
        try:
            await run.run()
        except Superseded:
            self._on_superseded()
        except Exception:
            # A fault of ours: the lease runs out by itself, and the journal has what is needed.
            log.exception("job.task_broke", dispatch=str(dispatch_id))
            self._tools.book.return_lease(dispatch_id)
        finally:
            self._remember(run)
            self._runs.pop(dispatch_id, None)
            self._tasks.pop(dispatch_id, None)
            self.look()

    def of(self, provider: str) -> list[JobRun]:
        """Those on this side of their outcome, the first leased first."""
        return [
            run for run in self._runs.values() if run.course.job.provider == provider and not run.course.is_delivering
        ]

    @property
    def load(self) -> int:
        return sum(not run.course.is_delivering for run in self._runs.values())

    @property
    def uploading(self) -> int:
        return sum(run.course.is_delivering for run in self._runs.values())

    def look(self) -> None:
        """Who is ahead now: those that came after as many as run at once, and have not begun."""
        slots = self._tools.servers.slots
        for provider in {run.course.job.provider for run in self._runs.values()}:
            for place, run in enumerate(self.of(provider)):
                run.stands(ahead=place >= max(1, slots.get(provider, 1)) and run.course.stage in NOT_BEGUN)
        book = self._tools.book
        book.mark_ahead({run.course.entry.dispatch_id for run in self if run.ahead and not run.course.is_delivering})
        book.load = self.load
        if any(run.course.job_takes("notices") for run in self._runs.values()):
            self.notices.set()
        else:
            self.notices.clear()
        self._tools.telemetry.holding(leases=len(self._runs), running=self.load)
        self.changed.set()

    def _remember(self, run: JobRun) -> None:
        if run.course.took_s is not None:
            self._took_s[run.course.job.structure_hash] = run.course.took_s
            self._took_s.move_to_end(run.course.job.structure_hash)
            while len(self._took_s) > STRUCTURES_MAX:
                self._took_s.popitem(last=False)

    def took_last_s(self, structure_hash: str) -> float | None:
        """On a server, from its first node to its outcome."""
        return self._took_s.get(structure_hash)

    def _rest_ahead(self) -> None:
        self._no_ahead_until = time.monotonic() + NO_AHEAD_S
        asyncio.get_running_loop().call_later(NO_AHEAD_S + 0.01, self.changed.set)

    @property
    def may_look_ahead(self) -> bool:
        return time.monotonic() >= self._no_ahead_until

    async def all_ended(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def leave_as_they_are(self) -> None:
        """Without a word: whoever comes after has the journal."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
