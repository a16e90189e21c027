"""What a day is made of. Each number can be changed; `consumer_day` and `big_day` are the two that are compared."""

import math
from dataclasses import dataclass, field

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.scaling import MachineClass, Market, Offer, Place, ScalingSettings
from comfyfleet.scaling.fake_cloud import CloudHabits

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
# An office by hour; its peak comes in the first third of the recorded day.
OFFICE: tuple[float, ...] = (0.39, 2.11, 2.67, 1.86, 0.72, 2.51, 2.80, 3.09, 2.50, 1.50, 0.46, 0.38)
OFFICE += (0.32, 0.45, 0.11, 0.13, 0.04, 0.09, 0.01, 0.01, 0.0, 0.0, 0.02, 0.1)


@dataclass(frozen=True, slots=True)
class JobKind:
    """Jobs of one length: log-normal, cut at `most_s`."""

    name: str
    share: float
    median_s: float
    sigma: float
    most_s: float = math.inf

    @property
    def mean_s(self) -> float:
        return self.median_s * math.exp(self.sigma**2 / 2)


@dataclass(frozen=True, slots=True)
class FailureShares:
    user_fault: float = 0.0
    out_of_memory: float = 0.0
    server_fault: float = 0.0


@dataclass(frozen=True, slots=True)
class SpotShocks:
    """Each Spot place is up, then down: a part of its machines is taken with notice, and no launch succeeds."""

    up_mean_s: float = 5.5 * HOUR_S
    down_mean_s: float = 1.5 * HOUR_S
    taken_least: float = 0.25


@dataclass(frozen=True, slots=True)
class SpotStorm:
    """That share of the machines of every Spot place is taken, after the usual notice."""

    at_s: float
    share: float


@dataclass(frozen=True, slots=True)
class Outage:
    at_s: float
    lasts_s: float


@dataclass(frozen=True, slots=True)
class DayPlan:
    name: str
    jobs_per_s: float  # averaged over the day
    settings: ScalingSettings
    habits: CloudHabits
    kinds: tuple[JobKind, ...] = (JobKind("image", 1.0, math.exp(3.196), 0.549),)
    lasts_s: float = DAY_S
    seed: int = 1
    # 1 + swing · sin, lowest at 04:00; split in parts that are shifted by 24 h ÷ parts.
    swing: float = 0.6
    regions: int = 1
    office_share: float = 0.0
    tenants: int = 1
    zipf: float = 1.1
    structures: int = 1
    session_orders: float = 1.0  # orders of one user, one after the other
    batches: tuple[tuple[int, float], ...] = ((1, 1.0),)  # jobs an order, with their shares
    crowds: int = 0  # flash crowds: five times the load for ten minutes
    drops: tuple[tuple[float, int, float], ...] = ()  # (when, jobs, within s) of one tenant
    switch_median_s: float = 0.0
    switch_sigma: float = 0.902
    first_load_median_s: float = 0.0
    first_load_sigma: float = 0.41
    failures: FailureShares = field(default_factory=FailureShares)
    shocks: SpotShocks | None = None
    storms: tuple[SpotStorm, ...] = ()
    outages: tuple[Outage, ...] = ()  # of the central database: nothing is leased or decided
    room: tuple[tuple[Place, int], ...] = ()  # machines that a place can hold, where it is limited
    restarts_every_s: float = math.inf  # of a replica: it forgets whose turn it is

    @property
    def mean_job_s(self) -> float:
        return sum(kind.share * kind.mean_s for kind in self.kinds) / sum(kind.share for kind in self.kinds)


PLAIN_CLASS = MachineClass("gpu", offers=(Offer(Market.ON_DEMAND, 1.0),))


def consumer_day(seed: int = 1, *, lasts_s: float = DAY_S) -> DayPlan:
    """40 GPUs' worth of one workflow by a consumer's day, and 2,000 jobs more within 30 s at 15:00."""
    kind = JobKind("image", 1.0, math.exp(3.196), 0.549)
    return DayPlan(
        "consumer day",
        jobs_per_s=(123_584 - 2_000) / DAY_S,
        settings=ScalingSettings((PLAIN_CLASS,), max_workers=5_000, down_delay_s=180.0),
        habits=CloudHabits(start_median_s=180.0, start_sigma=0.3),
        kinds=(kind,),
        lasts_s=lasts_s,
        seed=seed,
        drops=((15 * HOUR_S, 2_000, 30.0),),
    )


def sparse_day(seed: int = 1) -> DayPlan:
    """0.3 GPUs' worth: about 900 jobs."""
    return DayPlan(
        "sparse day",
        jobs_per_s=900 / DAY_S,
        settings=ScalingSettings((PLAIN_CLASS,), max_workers=50),
        habits=CloudHabits(start_median_s=180.0, start_sigma=0.3),
        seed=seed,
        swing=0.0,
    )


def stormy_hours(seed: int = 1) -> DayPlan:
    """Three steady hours on Spot; in the second, half of the fleet gets its notice at once."""
    zones = ("a", "b")
    spot = MachineClass("gpu", offers=(Offer(Market.SPOT, 0.4), Offer(Market.ON_DEMAND, 1.0)), zones=zones)
    return DayPlan(
        "Spot storm",
        jobs_per_s=1.4,
        settings=ScalingSettings((spot,), max_workers=500),
        habits=CloudHabits(start_median_s=180.0, start_sigma=0.3),
        kinds=(JobKind("image", 0.9, math.exp(3.196), 0.549), JobKind("video", 0.1, 150.0, 0.7, 1_800.0)),
        lasts_s=3 * HOUR_S,
        seed=seed,
        swing=0.0,
        structures=2,
        storms=(SpotStorm(1.5 * HOUR_S, 0.5),),
    )


def big_day(scale: float = 1.0, seed: int = 1, *, lasts_s: float = DAY_S) -> DayPlan:
    """10,000 GPUs × scale, twelve Spot places, 2,000 tenants, 90 structures, and what goes wrong on such a day."""
    if not 0 < scale <= 1:
        raise InvalidInput("scale", f"is {scale:g}; allowed: above 0 to 1")
    if not 0 < lasts_s <= 7 * DAY_S:
        raise InvalidInput("hours", f"is {lasts_s / HOUR_S:g}; allowed: above 0 to 168")
    zones = ("a", "b", "c", "d")
    classes = (
        MachineClass("24gb", 1.0, 24, (Offer(Market.SPOT, 0.35), Offer(Market.ON_DEMAND, 1.00)), zones),
        MachineClass("48gb", 1.3, 48, (Offer(Market.SPOT, 0.60), Offer(Market.ON_DEMAND, 1.70)), zones),
        MachineClass("80gb", 2.2, 80, (Offer(Market.SPOT, 1.30), Offer(Market.ON_DEMAND, 3.60)), zones),
    )
    shares = {"24gb": 0.40, "48gb": 0.35, "80gb": 0.25}
    parts = {Market.SPOT: 0.7, Market.ON_DEMAND: 0.3}
    room = tuple(
        (Place(each.name, market, zone), max(1, round(10_000 * scale * shares[each.name] * part / len(zones))))
        for each in classes
        for market, part in parts.items()
        for zone in zones
    )
    kinds = (
        JobKind("image", 0.80, math.exp(3.196), 0.549),
        JobKind("video", 0.15, 150.0, 0.7, 1_800.0),
        JobKind("upscale", 0.05, 8.0, 0.5),
    )
    return DayPlan(
        f"day of {10_000 * scale:,.0f} GPUs",
        jobs_per_s=135.0 * scale,
        settings=ScalingSettings(classes, max_workers=max(1, round(10_000 * scale))),
        habits=CloudHabits(
            start_median_s=150.0,
            start_sigma=0.46,
            stuck_share=0.01,
            early_death_share=0.005,
            taken_per_hour=0.0001,
        ),
        kinds=kinds,
        lasts_s=lasts_s,
        seed=seed,
        regions=3,
        office_share=1 / 3,
        tenants=max(20, round(2_000 * min(1.0, scale * 10))),
        structures=90,
        session_orders=4.0,
        batches=((1, 0.58), (2, 0.08), (4, 0.19), (8, 0.15)),
        crowds=6,
        drops=((2 * HOUR_S, max(1, round(50_000 * scale)), 60.0),),
        switch_median_s=8.5,
        first_load_median_s=23.0,
        failures=FailureShares(0.015, 0.003, 0.001),
        shocks=SpotShocks(),
        outages=(Outage(11 * HOUR_S, 300.0),),
        room=room,
        restarts_every_s=2 * HOUR_S,
    )
