"""One job from its lease to its ending. Its own task, and nobody else, decides how it ends."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from comfyfleet.comfy.errors import PromptRefused
from comfyfleet.comfy.failures import failure_of_refusal
from comfyfleet.comfy.model import Cancelled, Completed, Failed, FailureClass, Outcome, Returned
from comfyfleet.kernel.errors import FleetError, LeaseLost, Superseded
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused
from comfyfleet.worker.course import Course
from comfyfleet.worker.deliver import Ending, complete_with, end_with, say
from comfyfleet.worker.failpoints import reached
from comfyfleet.worker.failures import FailWith, GiveBack, report_error, report_outcome, report_refusal
from comfyfleet.worker.job_trace import LEASE_LOST
from comfyfleet.worker.journal import Entry
from comfyfleet.worker.leases import FreshUrls, Held, Word
from comfyfleet.worker.response import cut_response
from comfyfleet.worker.run_prompt import bring_outputs, clean_up, run_prompt, withdraw
from comfyfleet.worker.stages import NOT_BEGUN, Force, Stage, Stop
from comfyfleet.worker.tools import Tools

CANCEL_S = 15.0  # for the server to confirm that a prompt is gone
WITHDRAW_S, WITHDRAW_AGAIN_S = 15.0, 2.0
# Of a prompt, by what became of it on its server.
LAST_WORDS: dict[type, str] = {Completed: "completed", Failed: "failed", Cancelled: "cancelled"}
BRINGS_MAX = 3  # how often outputs are brought that the store then does not have

log = structlog.get_logger()


class JobRun:
    """`ahead`: it came after as many as run at once. Whoever counts them sets it."""

    def __init__(
        self, entry: Entry, tools: Tools, *, moved: Callable[[], None], wanted_back: Callable[[], None]
    ) -> None:
        self.course = Course(entry, tools, moved=moved)
        self._wanted_back = wanted_back
        self.tools = tools
        self.ahead = False
        self._stop: Stop | None = None
        self._work: asyncio.Task[Ending | None] | None = None
        self._withdrawing: asyncio.Task[None] | None = None
        self._done: Completed | None = None
        self._outcome: Outcome | None = None

    # ── what others tell it ──

    def stands(self, *, ahead: bool) -> None:
        """Whoever watches must not take the time behind another one for progress of its own."""
        if ahead is not self.ahead:
            self.ahead = ahead
            self.tools.reporter.stands(self.course.proof, waits=ahead)

    def hold(self) -> None:
        """Into the book: the first heartbeat goes out at once."""
        loop = asyncio.get_running_loop()

        def tell(word: Word | FreshUrls) -> None:  # on the heartbeat's thread
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self.told, word)

        entry = self.course.entry
        held = Held(
            entry.dispatch_id, entry.job.lease_token, self.course.provider_job_id, self.course.stage.value, self.ahead
        )
        self.tools.book.hold(held, tell)
        self.course.recall_times()

    async def rebind(self, lease_token: str) -> None:
        """The worker has registered anew: the lease goes on under another token."""
        await self.course.write(job=msgspec.structs.replace(self.course.job, lease_token=lease_token))
        self.hold()

    def told(self, word: Word | FreshUrls) -> None:
        match word:
            case FreshUrls():
                self.course.take_urls(word)
            case Word.LOST:
                self.stop(Stop(Force.LOST, "the lease is lost"))
            case Word.CANCEL:
                self.stop(Stop(Force.CANCEL, "cancelled, as was asked for"))
            case Word.GIVE_BACK:
                if self.ahead and self.course.stage in NOT_BEGUN:
                    self._wanted_back()
                    self.stop(Stop(Force.RETURN, "given back: another worker is idle"))

    def stop(self, stop: Stop) -> None:
        stage = self.course.stage
        if self._stop is not None and self._stop.force >= stop.force:
            return
        # An ending that is being said is answered; that answer counts. What is finished is worth its delivery.
        if stage is Stage.ENDING or (stage is Stage.UPLOADING and stop.force is Force.RETURN):
            return
        log.info("job.stops", dispatch_id=str(self.course.entry.dispatch_id), reason=stop.reason, stage=stage.value)
        self._stop = stop
        if self._work is None:
            return
        if self.course.is_on_server and stop.force is not Force.LOST:
            self._withdrawing = self._withdrawing or asyncio.create_task(self._withdraw_first())
        else:
            self._work.cancel()

    async def _withdraw_first(self) -> None:
        """What the server says then is the outcome: a prompt that had finished is not thrown away."""
        with suppress(FleetError, TimeoutError):
            async with asyncio.timeout(CANCEL_S):
                await self.course.posted.wait()
                connector = self.tools.servers.connector(self.course.entry.server or "")
                if connector is not None and self.course.entry.prompt_id is not None:
                    await connector.cancel(self.course.entry.prompt_id)
                await self.course.outcome_known.wait()
                return
        if self._work is not None:
            self._work.cancel()

    # ── its way ──

    async def run(self) -> None:
        """Raises Superseded. Cancelled from outside it leaves everything as it is, for whoever comes after."""
        entry = self.course.entry
        facts = {"job": str(entry.job.job_id), "dispatch": str(entry.dispatch_id), "epoch": entry.job.epoch}
        if (trace_id := self.course.trace.trace_id) is not None:
            facts["trace_id"] = trace_id
        self.hold()
        with structlog.contextvars.bound_contextvars(**facts):
            try:
                await self._see_through()
                self.course.trace.close()
            finally:
                self.course.give_up_place()
                self.tools.reporter.forget(entry.dispatch_id)

    async def _see_through(self) -> None:
        for _ in range(BRINGS_MAX):
            ending = await self._decide()
            if ending is None:
                return await self._discard()
            if await self._deliver(ending):
                return None
            self.course.to(Stage.QUEUED)
            await self.course.write(ending=None)
        report = FailWith(FailureClass.INFRA, "the store does not keep the outputs")
        await self._deliver(self._end_with(report))
        return None

    async def _decide(self) -> Ending | None:
        """None: the lease is lost."""
        ending = None
        if self._stop is None:
            self._work = asyncio.create_task(self._work_through())
            try:
                ending = await self._work
            except asyncio.CancelledError:
                self._work.cancel()
                if self._stop is None:
                    raise
            finally:
                await self._end_withdrawing()
        stop = self._stop
        if stop is not None and stop.force is Force.LOST:
            return None
        if ending is None and stop is not None:
            # A server that has not let go by now is asked once more, and not waited for: a long node may take hours.
            tried = self._withdrawing is not None
            await withdraw(self.course, within_s=WITHDRAW_AGAIN_S if tried else WITHDRAW_S)
            ending = self._end_with(_report_of(stop))
        return ending

    async def _end_withdrawing(self) -> None:
        if self._withdrawing is not None:
            self._withdrawing.cancel()
            await asyncio.gather(self._withdrawing, return_exceptions=True)

    async def _work_through(self) -> Ending | None:
        """None: whatever stopped it says how it ends."""
        if self.course.entry.ending is not None:
            return self.course.entry.ending
        try:
            self._outcome = outcome = await run_prompt(self.course)
            if self.course.place is not None:
                await self.tools.servers.learn(self.course.place, outcome)
            return await self._ending_of(outcome)
        except LeaseLost:
            self._stop = Stop(Force.LOST, "the lease is lost")
            return None
        except Superseded:
            raise
        except PromptRefused as refused:
            self._outcome = failure_of_refusal(refused)
            return self._after_error(refused)
        except (FleetError, OSError) as error:
            return self._after_error(error)
        except Exception as error:
            log.exception("job.broke")
            return self._end_with(FailWith(FailureClass.INFRA, f"{type(error).__name__} in the worker; see its log"))

    async def _ending_of(self, outcome: Outcome) -> Ending | None:
        if isinstance(outcome, Completed):
            reached("finished")
            if self._stop is not None and self._stop.force >= Force.RETURN_NOW:
                return None
            return await self._collect(outcome)
        if self._stop is not None and isinstance(outcome, Cancelled | Returned):
            return None
        return self._end_with(report_outcome(outcome, begun=self.course.may_have_begun))

    async def _collect(self, done: Completed) -> Ending:
        self._done = done
        self.course.to(Stage.UPLOADING)
        self.course.give_up_place()
        outputs = await bring_outputs(self.course, done)
        if not self.course.job_takes("output_metadata"):
            outputs = [msgspec.structs.replace(each, metadata={}) for each in outputs]
        reached("uploaded")
        tells = self.course.job.takes_ran_s and not self.course.found_again
        ending = complete_with(
            self.course.proof,
            self.tools.control.session.worker_id,
            self.course.provider_job_id,
            outputs,
            ran_s=self.course.took_s if tells else None,
            response=self._response(),
        )
        return self._with_status(ending)

    def _after_error(self, error: FleetError | OSError) -> Ending:
        report = report_error(error, posted=self.course.may_be_posted)
        log.warning("job.failed", problem=str(error), report=type(report).__name__)
        if isinstance(report, GiveBack) and self.course.place is not None:
            self.tools.servers.rest(self.course.place.server, report.reason)
        return self._end_with(report)

    def _end_with(self, report: FailWith | GiveBack) -> Ending:
        worker_id = self.tools.control.session.worker_id
        self.course.say(_words_of(report))
        if isinstance(report, FailWith):
            self.course.trace.failed(report.failure.value)
        ending = end_with(
            report,
            self.course.proof,
            worker_id,
            self.course.provider_job_id,
            says_reason=self.course.job_takes("service_reason"),
            response=self._response(),
        )
        return self._with_status(ending)

    def _with_status(self, ending: Ending) -> Ending:
        """The server's last word on the prompt, where it had one; else what was told before stands."""
        course = self.course
        posted = course.posted.is_set() and course.job_takes("ending_times")
        taken_out = isinstance(self._outcome, Cancelled) and not course.may_have_begun
        told = LAST_WORDS.get(type(self._outcome)) if posted and not taken_out else None
        return ending if told is None else msgspec.structs.replace(ending, service_status=told)

    def _response(self) -> dict[str, Any] | None:
        """What the server itself said of its end."""
        told = None if self._outcome is None or isinstance(self._outcome, Cancelled) else self._outcome.response
        return cut_response(told) if told is not None and self.course.job_takes("result_metadata") else None

    # ── its end ──

    async def _deliver(self, ending: Ending) -> bool:
        """False: outputs are not in the store, and must be brought again."""
        self.course.to(Stage.ENDING)
        self.course.give_up_place()
        try:
            await self.course.write(ending=ending, checked_at=self._checked_at())
        except OSError as problem:  # a full disk: then it is said without, and a crash just now would cost the run
            log.error("journal.not_written", problem=str(problem))
        reached("ending")
        try:
            await self.tools.reporter.flush(self.course.entry.dispatch_id)
            reply = await say(self.tools.control, ending, now=self._said_now)
        except LeaseLost as lost:
            log.warning("job.lease_lost", problem=lost.message)
            await self._discard()
            return True
        except CallRefused as refused:
            log.error("job.ending_refused", problem=refused.message)
            if isinstance(ending, wire.Complete):
                return await self._deliver(self._end_with(report_refusal(refused.refusal, refused.message)))
            await self._close()
            return True
        if reply is None:
            return False
        reached("completed")
        self._count(ending, reply)
        await self._close()
        return True

    def _said_now(self) -> dict[str, Any]:
        token = self.course.job.lease_token
        if not self.course.job_takes("ending_times"):
            return {"lease_token": token}
        submitted_s, checked_s = self.tools.book.times_of(self.course.entry.dispatch_id)
        return {"lease_token": token, "submitted_seconds": submitted_s, "checked_seconds": checked_s}

    def _checked_at(self) -> float | None:
        _, checked_s = self.tools.book.times_of(self.course.entry.dispatch_id)
        return None if checked_s is None else time.time() - checked_s

    async def _discard(self) -> None:
        """Somebody else has it: not a word and not a byte more."""
        self.tools.telemetry.lease_lost()
        self.course.trace.ended(LEASE_LOST)
        self.tools.book.return_lease(self.course.entry.dispatch_id)
        await withdraw(self.course)
        await self._close()

    async def _close(self) -> None:
        """The journal last: after a crash in between, the rest is cleaned up again."""
        self.tools.book.return_lease(self.course.entry.dispatch_id)
        self.course.give_up_place()
        await clean_up(self.course, self._done)
        await self.tools.journal.forget(self.course.entry.dispatch_id)

    def _count(self, ending: Ending, reply: wire.EndReply) -> None:
        telemetry = self.tools.telemetry
        match ending:
            case wire.Complete():
                telemetry.job_finished("completed")
                self.course.trace.ended("completed")
            case wire.Fail():
                telemetry.job_finished(ending.error_class)
                self.course.trace.ended(ending.error_class)
            case wire.Requeue():
                self.course.trace.ended("given_back")
                telemetry.job_given_back(self._stop.force.name.lower() if self._stop else "server away")
        log.info("job.ended", ending=type(ending).__name__.lower(), became=reply.status)


def _words_of(report: FailWith | GiveBack) -> str:
    """Users read them: the error itself may name folders and servers, and is kept for operators."""
    return f"Ended: {report.failure.value}." if isinstance(report, FailWith) else "Given back, for another try."


def _report_of(stop: Stop) -> FailWith | GiveBack:
    if stop.force is Force.CANCEL:
        return FailWith(FailureClass.CANCELLED, stop.reason)
    return GiveBack(stop.reason)
