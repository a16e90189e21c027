"""One question until there is an answer: again where that may help, with pauses, and never for ever."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from comfyfleet.client.errors import ApiUnreachable, decode, read_fault
from comfyfleet.client.steps import Answer, Broken, Call, Flow, Pause, Send
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError

T = TypeVar("T")

# Nothing was done, or it was and can be asked again: every call of this client is one of these.
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
ATTEMPTS_MAX = 5
PAUSE_S, PAUSE_S_MAX = 0.25, 8.0
RETRY_AFTER_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """`attempts_max` 1 asks once."""

    attempts_max: int = ATTEMPTS_MAX
    pause_s: float = PAUSE_S

    def pause_after(self, outcome: Answer | Broken, attempt: int) -> float | None:
        """None: it is of no use, or there have been enough."""
        if attempt >= self.attempts_max or not may_help(outcome):
            return None
        own_s = backoff_s(attempt, chance=random.random(), base_s=self.pause_s, ceiling_s=PAUSE_S_MAX)  # noqa: S311 jitter
        asked_s = _retry_after_s(outcome)
        return max(own_s, asked_s) if asked_s <= RETRY_AFTER_S_MAX else None


def may_help(outcome: Answer | Broken) -> bool:
    return isinstance(outcome, Broken) or outcome.status in TRY_AGAIN


def _retry_after_s(outcome: Answer | Broken) -> float:
    told = outcome.headers.get("retry-after", "") if isinstance(outcome, Answer) else ""
    return float(told) if told.isdecimal() and len(told) < 8 else 0.0


def error_of(outcome: Answer | Broken) -> FleetError:
    if isinstance(outcome, Broken):
        return ApiUnreachable(outcome.host, outcome.problem)
    return read_fault(outcome.host, outcome.status, outcome.body, outcome.headers.get("x-request-id"))


def ask(call: Call, patience: Patience, *, also: Collection[int] = ()) -> Flow[Answer]:
    """A success, or one of the statuses in `also`. Raises what the last try said."""
    attempt = 0
    while True:
        attempt += 1
        outcome: Answer | Broken = yield Send(call)
        if isinstance(outcome, Answer) and (200 <= outcome.status < 300 or outcome.status in also):
            return outcome
        pause_s = patience.pause_after(outcome, attempt)
        if pause_s is None:
            raise error_of(outcome)
        yield Pause(pause_s)


def ask_for(call: Call, shape: type[T], patience: Patience) -> Flow[T]:
    answer = yield from ask(call, patience)
    return decode(answer.host, answer.status, answer.body, shape)
