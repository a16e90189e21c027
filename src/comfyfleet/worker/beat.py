"""The heartbeat: a thread of its own, so that a busy event loop does not lose a lease, and a dead one does."""

import threading
from collections.abc import Callable

import structlog

from comfyfleet.kernel.errors import Conflict, FleetError, Superseded, Unauthenticated
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import BeatClient, ControlUnreachable
from comfyfleet.worker.leases import FreshUrls, LeaseBook, Word
from comfyfleet.worker.news import News
from comfyfleet.worker.telemetry import LOOP_AGE_S_MAX, Telemetry

INTERVAL_S_MAX = 30.0
LOOP_SLOW_S = 5.0
RETRY_FIRST_S = 0.5

log = structlog.get_logger()


def interval_s(lease_ttl_s: float, asked_s: float) -> float:
    """Two may get lost before the lease does."""
    return min(INTERVAL_S_MAX, lease_ttl_s / 3, asked_s)


class Heartbeat:
    """`on_superseded`, `on_refused` and `on_draining` are called on this thread."""

    def __init__(
        self,
        client: BeatClient,
        book: LeaseBook,
        telemetry: Telemetry,
        news: News,
        *,
        every_s: float,
        on_superseded: Callable[[], None],
        on_refused: Callable[[], None],
        on_draining: Callable[[], None],
        loop_age_s_max: float = LOOP_AGE_S_MAX,
    ) -> None:
        self.every_s = every_s
        self._client = client
        self._book = book
        self._telemetry = telemetry
        self._news = news
        self._on_superseded = on_superseded
        self._on_refused = on_refused
        self._on_draining = on_draining
        self._loop_age_s_max = loop_age_s_max
        self._unanswered = 0
        # A daemon: a process that is told to die must not wait for a request's timeout.
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, within_s: float = 2.0) -> None:
        self._book.close()
        self._thread.join(within_s)
        if not self._thread.is_alive():
            self._client.close()

    def _run(self) -> None:
        pause_s = self.every_s
        while self._book.wait(pause_s):
            try:
                pause_s = self.beat()
            except Exception:
                log.exception("beat.broke")
                pause_s = self.every_s

    def beat(self) -> float:
        """Once. The seconds until the next."""
        age_s = self._book.loop_age_s
        if age_s > self._loop_age_s_max:
            log.error("beat.loop_is_dead", loop_age_s=round(age_s, 1), leases=len(self._book))
            return self.every_s
        if age_s > LOOP_SLOW_S:
            log.warning("beat.loop_is_slow", loop_age_s=round(age_s, 1))
        said = self._said()
        try:
            reply = self._client.heartbeat(said)
        except (Superseded, Unauthenticated, ControlUnreachable, Conflict) as problem:
            return self._unheard(problem)
        self._unanswered = 0
        self._news.heard(said.capabilities)
        self._telemetry.beaten(answered=True)
        self._pass_on(reply)
        return min(self.every_s, reply.heartbeat_interval_seconds)

    def _said(self) -> wire.Heartbeat:
        return wire.Heartbeat(
            worker_id=self._client.session.worker_id,
            current_load=self._book.load,
            leases=self._book.say(),
            capabilities=self._news.unheard(),
        )

    def _unheard(self, problem: FleetError) -> float:
        self._telemetry.beaten(answered=False)
        self._unanswered += 1
        if isinstance(problem, Superseded):
            self._on_superseded()
            return self.every_s
        if isinstance(problem, Unauthenticated):
            self._on_refused()
        log.warning("beat.unanswered", problem=problem.message, leases=len(self._book))
        return min(self.every_s, RETRY_FIRST_S * 2.0 ** min(self._unanswered - 1, 10))

    def _pass_on(self, reply: wire.HeartbeatReply) -> None:
        for dispatch_id in reply.lost:
            self._book.tell(dispatch_id, Word.LOST)
        for state in reply.leases:
            if state.cancel_requested:
                self._book.tell(state.dispatch_id, Word.CANCEL)
            elif state.give_back:
                self._book.tell(state.dispatch_id, Word.GIVE_BACK)
            if state.input_urls:
                self._book.tell(state.dispatch_id, FreshUrls(state.input_urls, state.url_seconds))
        if reply.draining:
            self._on_draining()
