"""What of the demo can be played at a control plane, by what it offers; and why not the rest."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from comfyfleet.client import AsyncClient
from comfyfleet.client.model import Effect
from comfyfleet.demo.catalogue import CATALOGUE, DREAM, DemoEffect
from comfyfleet.demo.choose import LeftOut, why_not_offered
from comfyfleet.demo.previews import samples_can_be_drawn

READY_WITHIN_S = 30.0
LOOK_EVERY_S = 1.0
NO_SAMPLES = "its sample is drawn with libraries that are not installed: pip install 'comfyfleet[engine]'"


NOTHING_OFFERED = (
    "It offers no effects: no ComfyUI has answered there yet. Install the built-in engine "
    "(pip install 'comfyfleet[engine]') and start `comfyfleet up` again, or name yours: comfyfleet up --comfyui URL"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`is_empty`: nothing at all is offered."""

    effects: tuple[DemoEffect, ...]
    left_out: tuple[LeftOut, ...] = ()
    is_empty: bool = False

    @property
    def reasons(self) -> str:
        if self.is_empty:
            return NOTHING_OFFERED
        return " ".join(f"{each.effect}: {each.reason}." for each in self.left_out)


async def make_plan(
    fleet: AsyncClient,
    wanted: Sequence[DemoEffect],
    *,
    tell: Callable[[str], None],
    ready_within_s: float = READY_WITHIN_S,
) -> Plan:
    """A worker that has just started, and effects that are just being made, are waited for."""
    until = time.monotonic() + ready_within_s
    told = False
    while True:
        offered = {each.slug: each for each in await fleet.effects()}
        plan = plan_of(wanted, offered, can_draw=samples_can_be_drawn())
        if plan.effects or not _may_come(wanted, offered) or time.monotonic() > until:
            return plan
        if not told:
            tell("Nothing can run yet: waits for a worker.")
            told = True
        await asyncio.sleep(LOOK_EVERY_S)


def _may_come(wanted: Sequence[DemoEffect], offered: Mapping[str, Effect]) -> bool:
    """Effects are made at once, so one that is missing beside others does not come any more."""
    return not offered or any(each.slug in offered for each in wanted)


def plan_of(wanted: Sequence[DemoEffect], offered: Mapping[str, Effect], *, can_draw: bool) -> Plan:
    """`wanted`: in the order in which they are shown. What nobody expects here is not named."""
    expected = {each.slug for each in CATALOGUE} | ({DREAM.slug} if _is_stock(offered) else set())
    named = len(wanted) <= len(CATALOGUE)
    effects, left_out = [], []
    for each in wanted:
        offer = offered.get(each.slug)
        if offer is None and (each.slug in expected or named):
            left_out.append(LeftOut(each.slug, why_not_offered(each)))
        elif offer is not None and (reason := offer.why_not_now):
            left_out.append(LeftOut(each.slug, reason))
        elif offer is not None and each.sample is not None and not can_draw:
            left_out.append(LeftOut(each.slug, NO_SAMPLES))
        elif offer is not None:
            effects.append(each)
    return Plan(tuple(effects), tuple(left_out), is_empty=not offered)


def _is_stock(offered: Mapping[str, Effect]) -> bool:
    return not all(each.slug in offered for each in CATALOGUE)
