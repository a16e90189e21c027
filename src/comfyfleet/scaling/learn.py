"""What one tick teaches the next: start-up times, arriving work, places without capacity, machines that never come."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from comfyfleet.scaling.machines import LaunchAnswer
from comfyfleet.scaling.model import CapacityRest, LaunchRequest, ScalingState, StartTimes

# Fewer starts than this say little: the fleet's `first_start_s` counts.
STARTS_MIN = 5
STARTS_MAX = 200  # the newest
REST_S, REST_S_MAX = 120.0, 300.0
# Of the window over which arriving work is averaged, the part that follows a ramp.
SHORT_SHARE = 0.2


def learn_start_times(starts_s: Sequence[float]) -> StartTimes | None:
    """From launch to first lease, oldest first."""
    newest = sorted(each for each in starts_s[-STARTS_MAX:] if math.isfinite(each) and each >= 0)
    if len(newest) < STARTS_MIN:
        return None
    return StartTimes(_quantile(newest, 0.75), _quantile(newest, 0.99), len(newest))


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


class Arrived(NamedTuple):
    """Work that was queued at a time, or in the tick that ended then."""

    at_s: float
    gpu_s: float


def arriving_rates(arrived: Iterable[Arrived], at_s: float, *, window_s: float) -> tuple[float, float]:
    """`(arriving_3m, arriving_15m)` from what was queued within the window, by default 15 minutes."""
    short_s = window_s * SHORT_SHARE
    short = long = 0.0
    for each in arrived:
        if each.at_s > at_s - window_s:
            long += each.gpu_s
            if each.at_s > at_s - short_s:
                short += each.gpu_s
    return short / short_s, long / window_s


def learn_launch(state: ScalingState, request: LaunchRequest, answer: LaunchAnswer, *, at_s: float) -> ScalingState:
    """A place that refused rests for 2 minutes, up to 5 if it goes on; one that gave all it was asked for does not."""
    before = next((rest for rest in state.rests if rest.place == request.place), None)
    others = tuple(rest for rest in state.rests if rest is not before)
    if not answer.errors:
        return replace(state, rests=others)
    errors = 1 if before is None else before.errors + 1
    rest_s = min(REST_S_MAX, REST_S * 2 ** min(errors - 1, 8))
    rest = CapacityRest(*request.place, at_s + rest_s, errors, answer.errors[0].problem.value)
    return replace(state, rests=(*others, rest))


def resume_launches(state: ScalingState) -> ScalingState:
    """An operator has mended what kept machines from registering, or capacity is back."""
    return replace(state, failed_launches_at_s=(), rests=())
