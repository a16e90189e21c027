"""Watching one prompt: messages first, the server's queue and history as the backup. Ends in exactly one outcome.

Messages are a hint: they may be late, lost or somebody else's. Whatever ends a prompt is read from the history, or,
where that is gone, from the prompt's own last words. When to look, see `docs/explanation/watching-a-prompt.md`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from comfyfleet.comfy.errors import ServerUnreachable
from comfyfleet.comfy.health import (
    DEFAULT_PATIENCE,
    Action,
    Decision,
    Look,
    Patience,
    Signs,
    Stop,
    decide,
    decide_blind,
    look_for,
)
from comfyfleet.comfy.messages import (
    Disconnected,
    Executing,
    Heard,
    NodeText,
    PreviewImage,
    ProgressStep,
    Reconnected,
    Status,
    prompt_of,
)
from comfyfleet.comfy.model import (
    Absent,
    Checked,
    Completed,
    Finished,
    Outcome,
    Pending,
    Preview,
    Prompt,
    Queued,
    Returned,
    Running,
    Update,
)
from comfyfleet.comfy.progress import Progression
from comfyfleet.comfy.testimony import ENDS, Testimony
from comfyfleet.comfy.verdict import ReturnReason
from comfyfleet.comfy.withdraw import PAUSE_MAX_S, TROUBLE, Server, TimedServer, pause_s, press

HINT_GAP_S = 0.25  # between two looks that messages of others suggest
PLACE_GAP_S = 2.0  # between two looks for nothing more than the place in the queue
SETTLE_FIRST_S = 0.02  # the history is written about 1 ms after the prompt says that it has succeeded
SETTLE_MAX_S = 1.0
BLIND_FIRST_S = 0.5
BLIND_MAX_S = 10.0


class Messages(Protocol):
    """What is heard of one prompt, and what goes to everybody. Its owner drains the socket whether we read or not:
    one socket that is not read holds up all others of that server."""

    async def receive(self) -> Heard:
        """May be cancelled without losing a message."""
        ...


class Attempt:
    """One submission and its one decision: whoever decides first, watcher or canceller, has decided."""

    def __init__(self, prompt: Prompt, *, submit_ambiguous: bool = False) -> None:
        self.prompt = prompt
        self.submit_ambiguous = submit_ambiguous  # the POST had no answer: it may be queued, or not, or later
        self.outcome: Outcome | None = None
        self.cancel_asked = False
        self._waiting: asyncio.Timeout | None = None

    def ask_cancel(self) -> bool:
        """From now on an interruption is ours. False: it is over already."""
        self.cancel_asked = self.cancel_asked or self.outcome is None
        self._wake()
        return self.outcome is None

    def decide(self, outcome: Outcome) -> Outcome:
        if self.outcome is None:
            self.outcome = outcome
            self._wake()
        return self.outcome

    async def receive(self, messages: Messages, *, until_s: float) -> Heard | None:
        """None: the time has come, or somebody woke us."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until_s) as self._waiting:
                return await messages.receive()
        return None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.expired():
            with suppress(RuntimeError):  # it has just been left
                self._waiting.reschedule(asyncio.get_running_loop().time())


async def watch(
    attempt: Attempt, server: Server, messages: Messages, *, deadline_s: float, patience: Patience = DEFAULT_PATIENCE
) -> AsyncIterator[Update | Outcome]:
    """From the POST to the outcome, which is the last element. Looks, deletes and interrupts only while it is read."""
    watcher = _Watcher(attempt, server, messages, deadline_s=deadline_s, patience=patience)
    while attempt.outcome is None:
        for update in await watcher.turn():
            yield update
    yield attempt.outcome


class _Watcher:
    def __init__(
        self, attempt: Attempt, server: Server, messages: Messages, *, deadline_s: float, patience: Patience
    ) -> None:
        self._attempt = attempt
        self._prompt = attempt.prompt
        self._id = attempt.prompt.prompt_id
        self._server = TimedServer(server, request_s=patience.request_s)
        self._messages = messages
        self._patience = patience
        self._clock = asyncio.get_running_loop()
        self._began_at_s = self._clock.time()
        self._deadline_at_s = self._began_at_s + deadline_s
        self._progression = Progression(attempt.prompt.graph, attempt.prompt.node_weights)
        self._testimony = Testimony(self._id)
        self._look_at_s = self._began_at_s
        self._looked_at_s = float("-inf")
        self._heard_at_s = self._began_at_s
        self._seen = False
        self._running = False
        self._place: int | None = None
        self._looked_once = False
        self._dropped = False
        self._unheard = False
        self._absent_since_s: float | None = None
        self._idle_since_s: float | None = None
        self._blind_since_s: float | None = None
        self._blind_looks = 0
        self._refused_since_s: float | None = None
        self._ended_at_s: float | None = None
        self._settle_looks = 0
        self._stop: Stop | None = None
        self._stopping_since_s: float | None = None
        self._stop_looks = 0
        self._unanswered_deleted = False

    async def turn(self) -> list[Update]:
        """Hear one message, or look once."""
        self._mind_the_end()
        if self._clock.time() >= self._look_at_s:
            return await self._look()
        until_s = self._look_at_s if self._stop else min(self._look_at_s, self._deadline_at_s)
        heard = await self._attempt.receive(self._messages, until_s=until_s)
        return [] if heard is None else self._take(heard)

    def _mind_the_end(self) -> None:
        if self._stop is not None:
            return
        now_s = self._clock.time()
        if self._attempt.cancel_asked:
            self._stop, self._stopping_since_s = Stop.CANCEL, now_s
        elif now_s >= self._deadline_at_s:
            self._stop, self._stopping_since_s = Stop.DEADLINE, self._deadline_at_s  # a slow look does not move it
        else:
            return
        self._look_at_s = now_s

    # Hearing

    def _take(self, heard: Heard) -> list[Update]:
        match heard:
            case Disconnected() | Reconnected():
                self._dropped = self._unheard = True
                self._look_soon(HINT_GAP_S)
            case Status(queue_remaining=remaining):
                self._take_hint(remaining)
            case _ if self._is_ours(heard):
                return self._take_ours(heard)
        return []

    def _is_ours(self, heard: Heard) -> bool:
        if isinstance(heard, Disconnected | Reconnected):
            return False
        whose = prompt_of(heard)
        # One prompt runs at a time, so what names none is of ours while ours runs.
        nameless = isinstance(heard, PreviewImage | NodeText | ProgressStep | Executing)
        return whose == self._id or (whose is None and nameless and self._running)

    def _take_hint(self, queue_remaining: int | None) -> None:
        """Of the whole server, so it does not count as a word of ours. But an empty queue cannot hold our prompt."""
        if self._ended_at_s is not None:
            self._look_soon(0.0)
        elif queue_remaining == 0:
            self._look_soon(HINT_GAP_S)
        elif self._place is not None:
            self._look_soon(PLACE_GAP_S)

    def _take_ours(self, heard: Heard) -> list[Update]:
        now_s = self._clock.time()
        self._seen, self._unheard, self._heard_at_s = True, False, now_s
        self._running, self._place, self._absent_since_s = True, None, None
        if self._stop is None and self._ended_at_s is None:
            self._look_at_s = now_s + self._patience.inactivity_s
        self._testimony.hear(heard)
        if isinstance(heard, ENDS) or (isinstance(heard, Executing) and heard.node is None):
            self._running = False
            self._ended_at_s = now_s if self._ended_at_s is None else self._ended_at_s
            self._look_soon(0.0)
        if isinstance(heard, PreviewImage):
            return [Preview(heard.node or self._progression.node, heard.media_type, heard.image)]
        progress = self._progression.hear(heard, now_s=now_s)
        return [] if progress is None else [progress]

    def _look_soon(self, gap_s: float) -> None:
        self._look_at_s = min(self._look_at_s, max(self._clock.time(), self._looked_at_s + gap_s))

    # Looking

    async def _look(self) -> list[Update]:
        is_first = not self._looked_once
        try:
            look = await self._read()
        except TROUBLE as trouble:
            return self._seen_nothing(refused=isinstance(trouble, ServerUnreachable) and trouble.refused)
        finally:
            self._looked_at_s = self._clock.time()
        self._blind_since_s, self._blind_looks, self._refused_since_s = None, 0, None
        if look is None:
            return [Checked(Action.CONTINUE_MONITORING, "not in the history yet")]
        updates = self._note(look)
        decision = decide(look, self._signs(), self._prompt, self._patience)
        updates.append(self._checked(decision, is_first=is_first))
        if decision.outcome is not None:
            return [*updates, *await self._end(decision.outcome)]
        if self._stop is not None:
            await press(self._server, self._id, look.found)
        self._look_at_s = self._clock.time() + self._pause_s(decision)
        return updates

    async def _read(self) -> Look | None:
        """The history alone where a yes is likely and a no means nothing: right after the POST, and at the end."""
        settling = self._ended_at_s is not None and self._clock.time() - self._ended_at_s < self._patience.settle_s
        first = not self._looked_once and not self._attempt.submit_ambiguous
        self._looked_once = True
        if self._stop is not None or not (first or settling):
            return await look_for(self._server, self._id)
        entry = await self._server.history(self._id)
        if entry is not None:
            return Look(Finished(entry))
        self._look_at_s = self._clock.time() + (self._settle_pause_s() if settling else self._patience.first_look_s)
        return None

    def _settle_pause_s(self) -> float:
        self._settle_looks += 1
        return min(SETTLE_MAX_S, SETTLE_FIRST_S * 2.0 ** min(self._settle_looks - 1, 10))

    def _note(self, look: Look) -> list[Update]:
        now_s = self._clock.time()
        absent = isinstance(look.found, Absent)
        self._seen = self._seen or not absent
        self._absent_since_s = (self._absent_since_s if self._absent_since_s is not None else now_s) if absent else None
        self._idle_since_s = (
            (self._idle_since_s if self._idle_since_s is not None else now_s) if look.executor_idle else None
        )
        if not isinstance(look.found, Pending):
            self._place = None
            unheard = isinstance(look.found, Running) and not self._running and self._ended_at_s is None
            self._running = self._running or unheard
            return [self._progression.last] if unheard else []  # it has begun, and no message said so
        moved = look.found.position != self._place
        self._place = look.found.position
        return [Queued(look.found.position)] if moved else []

    def _checked(self, decision: Decision, *, is_first: bool) -> Checked:
        unheard = self._ended_at_s is None and self._stop is None and not is_first
        recovers = decision.outcome is not None and unheard
        return Checked(decision.action, decision.reason, recovers=recovers)

    def _signs(self) -> Signs:
        now_s = self._clock.time()
        return Signs(
            now_s=now_s,
            submitted_at_s=self._began_at_s,
            absent_since_s=self._absent_since_s,
            idle_since_s=self._idle_since_s,
            submit_ambiguous=self._attempt.submit_ambiguous,
            seen=self._seen,
            socket_dropped=self._dropped,
            # While the server answers, its history has the last word.
            heard_end=self._testimony.entry(all_done=self._refused_since_s is not None and self._progression.all_done),
            stop=self._stop,
            stopping_since_s=self._stopping_since_s,
            silent=now_s - self._heard_at_s >= self._patience.inactivity_s,
            refused_since_s=self._refused_since_s,
        )

    def _pause_s(self, decision: Decision) -> float:
        if self._stop is not None:
            self._stop_looks += 1
            return pause_s(self._stop_looks - 1)
        if decision.look_again_in_s is not None:
            return decision.look_again_in_s
        if self._unheard or self._idle_since_s is not None or self._ended_at_s is not None:
            return self._patience.unheard_s
        return self._patience.health_check_interval_s

    def _seen_nothing(self, *, refused: bool) -> list[Update]:
        now_s = self._clock.time()
        self._mind_refusal(refused, now_s)
        if self._blind_since_s is None:
            self._blind_since_s = now_s
        blind_s = now_s - max(self._blind_since_s, self._heard_at_s)
        decision = decide_blind(self._signs(), self._prompt, self._patience, blind_s=blind_s)
        if decision.outcome is not None:
            return [self._checked(decision, is_first=False), *self._conclude(decision.outcome)]
        longest_s = PAUSE_MAX_S if self._stop else BLIND_MAX_S
        pause_s = min(longest_s, BLIND_FIRST_S * 2.0 ** min(self._blind_looks, 10))
        self._look_at_s = now_s + (min(pause_s, self._patience.refused_look_s) if refused else pause_s)
        self._blind_looks += 1
        return []

    def _mind_refusal(self, refused: bool, now_s: float) -> None:
        """One answer of another kind, however bad, and something listens there again."""
        if not refused:
            self._refused_since_s = None
            return
        self._dropped = True  # also of a server whose socket we never had
        if self._refused_since_s is None:
            self._refused_since_s = now_s

    # Ending

    async def _end(self, outcome: Outcome) -> list[Update]:
        if self._attempt.submit_ambiguous and not self._unanswered_deleted:
            # The POST may land yet. Whoever posts this id again must not find it queued twice.
            self._unanswered_deleted = True
            with suppress(*TROUBLE):
                await self._server.delete_pending([self._id])
            if outcome == Returned(ReturnReason.NEVER_QUEUED):
                self._look_at_s = self._clock.time()
                return []
        return self._conclude(outcome)

    def _conclude(self, outcome: Outcome) -> list[Update]:
        if isinstance(outcome, Completed):
            outcome = replace(outcome, node_timings_s=dict(self._progression.timings_s))
        decided = self._attempt.decide(outcome)
        progress = self._progression.finish() if isinstance(decided, Completed) else None
        return [] if progress is None else [progress]
