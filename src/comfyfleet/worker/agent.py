"""The map of the worker: which loops run, and how they stop.

heartbeat (thread)   keeps every lease alive, hears what is lost, cancelled, wanted back
poll loop            leases while there is room
job tasks            one each, from lease to ending
reporter             progress to whoever watches
notice               hears of a cancel or a drain at once while leases are held
pulse                tells the heartbeat's thread that this loop is alive
definitions          tells what the servers' node classes are
rejoin               registers again when the token is no longer one
leave                once a notice has come: what is ahead goes back, what runs may finish if time allows
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.graph import Definitions
from comfyfleet.kernel.errors import FleetError, LeasesOpen, Superseded
from comfyfleet.kernel.secret import Secret
from comfyfleet.traces.sink import TRACES_OFF, TraceSink
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.assets import AssetCache
from comfyfleet.worker.beat import Heartbeat, interval_s
from comfyfleet.worker.clean import WorkFolders
from comfyfleet.worker.control import BeatClient, CallRefused, ControlClient, Session, insist
from comfyfleet.worker.definitions import DefinitionsReport
from comfyfleet.worker.events import Reporter
from comfyfleet.worker.failpoints import reached
from comfyfleet.worker.idleness import Idleness
from comfyfleet.worker.interruption.model import OPERATOR_DRAIN, Notice
from comfyfleet.worker.job_trace import WorkerSpans
from comfyfleet.worker.journal import Entry, Journal
from comfyfleet.worker.kept_node_times import KeptNodeTimes
from comfyfleet.worker.leases import LeaseBook, Word
from comfyfleet.worker.leave import Leaving
from comfyfleet.worker.news import News
from comfyfleet.worker.notices import NoticeLoop
from comfyfleet.worker.options import WorkerSettings
from comfyfleet.worker.own_token import OwnToken
from comfyfleet.worker.poll_loop import PollLoop
from comfyfleet.worker.resume import resume
from comfyfleet.worker.room import RoomLimits, make_room
from comfyfleet.worker.servers import Servers
from comfyfleet.worker.telemetry import Phase, Telemetry
from comfyfleet.worker.tools import Tools
from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.under_way import UnderWay

PULSE_S = 1.0
DEREGISTER_S = 5.0
SIGN_OFF_AGAIN_S = 0.5
GIVE_UP_S = 20.0
LEAVE_AT_LAST_S = 20.0

log = structlog.get_logger()


class Agent:
    """`run()` until it has left. `connectors` are its to close. `capabilities` is what preflight found."""

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        worker_id: str,
        connectors: Sequence[Connector],
        telemetry: Telemetry | None = None,
        capabilities: Callable[[], dict[str, Any]] = dict,
        definitions: Callable[[], Definitions | None] = lambda: None,
        declare_unhealthy: Mapping[str, Callable[[str], None]] | None = None,
        boot_id: str | None = None,
        traces: TraceSink = TRACES_OFF,
    ) -> None:
        self._settings = settings
        self._capabilities = capabilities
        self._news = News(self._how_it_is)
        self._boot_id = boot_id
        self._unwell: dict[str, str] = {}
        self.telemetry = telemetry or Telemetry()
        self.home = settings.workdir(worker_id)
        session = Session(settings.control_plane_url, worker_id)
        self._session = session
        self._own_token = OwnToken(self.home)
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        self._ended: asyncio.Event = asyncio.Event()
        self._superseded = False
        self._came_drained = False
        self._refused: asyncio.Event = asyncio.Event()
        self._failure: FleetError | None = None
        control = ControlClient(session)
        control.on_refused = self._refused.set
        transfer = Transfer(base_url=settings.control_plane_url, on_moved=self.telemetry.bytes_moved)
        book = LeaseBook()
        reporter = Reporter(control, on_cancel=lambda each: book.tell(each, Word.CANCEL))
        self._tools = Tools(
            control=control,
            journal=Journal(self.home),
            book=book,
            servers=Servers(
                connectors,
                self.telemetry,
                concurrency=settings.concurrency,
                lease_ahead=settings.lease_ahead,
                comfyui_dir=settings.comfyui_dir,
                cache_bytes_max=settings.asset_cache_bytes,
                declare_unhealthy=declare_unhealthy,
                changed=self._servers_changed,
                on_line=reporter.server_line,
            ),
            cache=AssetCache(
                self.home / "assets",
                bytes_max=settings.asset_cache_bytes,
                transfer=transfer,
                on_look=self.telemetry.cache_looked,
            ),
            transfer=transfer,
            folders=WorkFolders(self.home / "jobs"),
            reporter=reporter,
            telemetry=self.telemetry,
            node_times=KeptNodeTimes(self.home / "node_times"),
            spans=WorkerSpans(traces, worker_id, f"{settings.fleet}/{settings.stage}" if settings.fleet else None),
        )
        self._definitions = DefinitionsReport(control, definitions)
        self._under_way = UnderWay(self._tools, on_superseded=self._on_superseded)
        self._polling = PollLoop(
            self._tools,
            self._under_way,
            lease_ahead=settings.lease_ahead,
            wait_s=settings.poll_wait_s,
            news=self._news,
            lacks_room=self._lacks_room,
            on_draining=self._drained_by_operator,
        )
        self._leaving = Leaving(self._under_way)
        self._notice_loop = NoticeLoop(
            control,
            book,
            is_leaving=lambda: self._leaving.is_leaving or self._polling.is_drained,
            on_draining=self._drained_by_heartbeat,
        )
        self._under_way.notices = self._notice_loop.answers

    # ── what others tell it ──

    def drain(self, notice: Notice) -> None:
        """On the loop's thread. Several may come: the shortest time counts."""
        self._notices.put_nowait(notice)

    @property
    def is_registered(self) -> bool:
        """From then on there may be something to hand over, be it from an earlier life."""
        return self._session.token is not None

    @property
    def is_busy(self) -> bool:
        return len(self._under_way) > 0

    def _servers_changed(self) -> None:
        with contextlib.suppress(AttributeError):  # the first call comes while it is being built
            self._under_way.look()
            unwell = self._tools.servers.unwell
            if unwell != self._unwell:
                self._unwell = unwell
                self._tools.book.hurry()  # one that has no server left does not poll

    def _on_superseded(self) -> None:
        self._superseded = True
        self._ended.set()

    async def _lacks_room(self) -> str | None:
        limits = RoomLimits(
            disk_free_bytes_min=self._settings.disk_free_bytes_min,
            memory_free_bytes_min=self._settings.memory_free_bytes_min,
        )
        return await make_room(self.home, self._tools.cache, limits)

    # ── its life ──

    async def run(self) -> None:
        """Comes back when it has left. Raises what kept it from working: refused, superseded, its home in use."""
        tools = self._tools
        tools.journal.open()
        try:
            await tools.cache.open()
            await tools.node_times.open()
            await tools.servers.open()
            entries = tools.journal.read()
            self._own_token.read()
            registered = await insist(partial(self._register, entries), what="register")
            await self._live(registered, entries)
        finally:
            self.telemetry.phase_is(Phase.STOPPED)
            await self._close()
        if self._superseded:
            raise Superseded(self._session.worker_id)
        if self._failure is not None:
            raise self._failure

    async def _live(self, registered: wire.Registered, entries: Sequence[Entry]) -> None:
        loop = asyncio.get_running_loop()

        def soon(call: Callable[..., None], *said: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(call, *said)

        beat = Heartbeat(
            BeatClient(self._session),
            self._tools.book,
            self.telemetry,
            self._news,
            every_s=interval_s(registered.lease_ttl_seconds, registered.heartbeat_interval_seconds),
            on_superseded=lambda: soon(self._on_superseded),
            on_refused=lambda: soon(self._refused.set),
            on_draining=lambda: soon(self._drained_by_heartbeat),
        )
        beat.start()
        self._tools.book.loop_turned()
        chores = [
            asyncio.create_task(self._guard(each), name=name)
            for name, each in {
                "pulse": self._pulse(),
                "reporter": self._tools.reporter.run(),
                "rejoin": self._rejoin(),
                "notice": self._notice_loop.run(),
                "definitions": self._definitions.run(),
                "notices": self._heed_notices(),
                "work": self._work(registered, entries),
            }.items()
        ]
        try:
            await self._ended.wait()
        finally:
            self._polling.stop()
            await _cancel(chores)
            await self._under_way.leave_as_they_are()
            await asyncio.to_thread(beat.stop)

    async def _guard(self, chore: Awaitable[None]) -> None:
        """One that fails ends the worker: half of one would hold leases that nobody serves."""
        try:
            await chore
        except asyncio.CancelledError:
            raise
        except Superseded:
            self._on_superseded()
        except FleetError as error:
            log.error("worker.stops", problem=error.message)
            self._failure = error
            self._ended.set()
        except Exception as error:
            log.exception("worker.broke")
            self._failure = FleetError(f"{type(error).__name__} in the worker; see its log")
            self._ended.set()

    async def _work(self, registered: wire.Registered, entries: Sequence[Entry]) -> None:
        if registered.status == "draining":
            # Whoever starts it again must not undo what an operator said; and it must not come and go for ever.
            self._polling.is_drained = self._came_drained = True
            log.warning("worker.is_drained", problem="an operator drained it: it gets nothing until it is approved")
        await resume(entries, registered, self._tools, self._under_way)
        self.telemetry.phase_is(Phase.DRAINING if self._leaving.is_leaving else Phase.POLLING)
        log.info("worker.at_work", worker_id=self._session.worker_id, workflows=registered.workflows_assigned)
        for workflow, lacks in registered.lacks.items():
            log.warning("worker.lacks", workflow=workflow, lacks=lacks)
        await self._polling.run()
        await self._under_way.all_ended()
        with contextlib.suppress(FleetError, TimeoutError):
            async with asyncio.timeout(DEREGISTER_S):
                await self._sign_off()
        self._ended.set()

    async def _sign_off(self) -> None:
        """Refused while it holds a lease: then its last poll was granted one after all, by a replica that was slow to
        see it hung up."""
        while True:
            try:
                await self._tools.control.deregister()
                return
            except CallRefused as refused:
                if refused.refusal != LeasesOpen.code:
                    raise
            await self._polling.return_what_came_late()
            await asyncio.sleep(SIGN_OFF_AGAIN_S)

    async def _pulse(self) -> None:
        idleness = Idleness(self.telemetry)
        while True:
            idleness.look(self._takes_no_work())
            self._tools.book.loop_turned()
            self.telemetry.loop_turned()
            await asyncio.sleep(PULSE_S)

    def _takes_no_work(self) -> str | None:
        reason = self._polling.takes_no_work()
        if reason is not None and self._leaving.is_leaving:
            held = len(self._under_way)
            return f"{self._leaving.reason}: it leaves" + (f" when the {held} it holds have ended" if held else "")
        return reason

    async def _heed_notices(self) -> None:
        while True:
            notice = await self._notices.get()
            log.info("worker.leaves", reason=notice.reason, seconds_left=notice.seconds_left)
            self.telemetry.phase_is(Phase.DRAINING)
            self._polling.stop()
            self._leaving.heed(notice)
            if notice.seconds_left is not None:
                # With no control plane to give things back to, they run out by themselves.
                asyncio.get_running_loop().call_later(notice.seconds_left + LEAVE_AT_LAST_S, self._ended.set)

    def _drained_by_heartbeat(self) -> None:
        """Of one that came back drained, a heartbeat's answer may be older than the approval that a poll has told."""
        if not self._came_drained:
            self._drained_by_operator()

    def _drained_by_operator(self) -> None:
        if not self._leaving.is_leaving and not self._polling.is_drained:
            self.drain(OPERATOR_DRAIN)

    # ── who it is ──

    async def _register(self, entries: Sequence[Entry]) -> wire.Registered:
        settings = self._settings
        said = wire.Register(
            worker_id=self._session.worker_id,
            fleet_slug=settings.fleet,
            stage=settings.stage,
            workflow_slugs=list(settings.workflows),
            max_concurrency=settings.max_concurrency,
            providers=list(settings.providers),
            capabilities=self._news.all(),
            boot_id=self._boot_id,
            leases=[entry.proof for entry in entries],
        )
        token = self._own_token
        registered = await self._tools.control.register(
            self._secret(), said, last_token=token.last, next_token=await token.propose()
        )
        reached("registered")
        # On disk before it is used: what took work under it is then known by it after a crash.
        await token.keep(Secret(registered.token))
        self._session.token = Secret(registered.token)
        self._news.heard(said.capabilities)
        return registered

    def _how_it_is(self) -> dict[str, Any]:
        """A server that is put aside or away is told to operators: it gets no jobs, and somebody must see to it."""
        return {**self._capabilities(), "unwell": self._tools.servers.unwell}

    def _secret(self) -> Secret:
        return self._settings.secret()

    async def _rejoin(self) -> None:
        """The control plane does not know our token any more. Leases that it still knows go on under new ones."""
        while True:
            await self._refused.wait()
            runs = {run.course.entry.dispatch_id: run for run in self._under_way}
            entries = [run.course.entry for run in runs.values()]
            try:
                registered = await insist(partial(self._register, entries), what="register")
            except FleetError:
                await self._give_up_all()
                raise
            log.info("worker.registered_anew", incarnation=registered.incarnation, leases=len(registered.leases))
            tokens = {each.dispatch_id: each.lease_token for each in registered.leases}
            for dispatch_id, run in runs.items():
                if dispatch_id in tokens:
                    await run.rebind(tokens[dispatch_id])
                else:
                    run.told(Word.LOST)
            self._refused.clear()

    async def _give_up_all(self) -> None:
        """It was revoked: nothing that it holds is its own any more."""
        for run in self._under_way:
            run.told(Word.LOST)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_S):
                await self._under_way.all_ended()

    async def _close(self) -> None:
        tools = self._tools
        for part in (tools.servers, tools.cache, tools.transfer, tools.control):
            try:
                await part.close()
            except Exception:
                log.exception("worker.part_not_closed", part=type(part).__name__)
        tools.journal.close()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
