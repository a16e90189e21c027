"""How a fleet scales: for operators, for the console, and for KEDA's metrics-api trigger."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Path, Query
from pydantic import Field

from comfyfleet import audit, fleet, machines, scaling
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.operator.policies import SEE, Acting
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action
from comfyfleet.machines import DecisionRow, ListedMachine, ListedState, ScalingReport
from comfyfleet.scaling import ALERTING_HOLDS, Eagerness, Held, Hold, MachineClass, Market, Offer, ScalingSettings
from comfyfleet.scaling.settings import (
    PRICE_MAX,
    SECONDS_MAX,
    SPEED_MAX,
    SPEED_MIN,
    WINDOW_S_MAX,
    WINDOW_S_MIN,
    WORKERS_MAX,
)

router = APIRouter(prefix="/fleets")
NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
Slug = Annotated[str, Path(pattern=NAME)]
Stage = Annotated[str, Path(pattern=NAME)]
HISTORY_S_MAX = 30 * 86_400.0
# Strict, as amounts are: `true` and "7" are no numbers. `check_settings` says what does not fit together.
Workers = Annotated[int, Field(strict=True, ge=0, le=WORKERS_MAX)]
Seconds = Annotated[float, Field(strict=True, ge=1, le=SECONDS_MAX)]
Delay = Annotated[float, Field(strict=True, ge=0, le=SECONDS_MAX)]
Window = Annotated[float, Field(strict=True, ge=WINDOW_S_MIN, le=WINDOW_S_MAX)]
Price = Annotated[float, Field(strict=True, ge=0, le=PRICE_MAX)]
Budget = Annotated[float, Field(strict=True, ge=0, le=1e9)]
Speed = Annotated[float, Field(strict=True, ge=SPEED_MIN, le=SPEED_MAX)]
Memory = Annotated[float, Field(strict=True, ge=0.1, le=100_000)]


class MarketOfferBody(Body):
    """`price`: dollars an hour."""

    market: Market
    price: Price | None = None


class MachineClassBody(Body):
    """`speed`: relative to the machines that expected times refer to."""

    name: Annotated[str, Field(max_length=100)]
    speed: Speed = 1.0
    memory_gb: Memory | None = None
    offers: Annotated[list[MarketOfferBody], Field(max_length=2)]
    zones: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=100)] = ("",)


class ScalingSettingsBody(Body):
    """All settings but the adapter: programs that run on the server are set on its command line only."""

    min_workers: Workers
    max_workers: Workers
    buffer: Workers = 0
    target_wait_s: Seconds = 30.0
    eagerness: Eagerness = Eagerness.NORMAL
    budget_per_hour: Budget | None = None
    down_delay_s: Delay | None = None
    first_start_s: Seconds = 180.0
    load_window_s: Window = 900.0
    classes: Annotated[list[MachineClassBody], Field(max_length=50)]

    def settings(self) -> ScalingSettings:
        said = self.model_dump(exclude={"classes"})
        return ScalingSettings(**said, classes=tuple(_class(each) for each in self.classes))


class MarketOfferView(View):
    market: Market
    price: float | None


class MachineClassView(View):
    name: str
    speed: float
    memory_gb: float | None
    offers: list[MarketOfferView]
    zones: list[str]


class ScalingSettingsView(View):
    min_workers: int
    max_workers: int
    buffer: int
    target_wait_s: float
    eagerness: Eagerness
    budget_per_hour: float | None
    down_delay_s: float | None
    first_start_s: float
    load_window_s: float
    classes: list[MachineClassView]


class HoldView(View):
    """Why less was done than the load asks for. `is_alerting`: an operator should look."""

    hold: Hold
    text: str
    is_alerting: bool

    @classmethod
    def of(cls, held: Held) -> Self:
        return cls(hold=held.hold, text=held.text, is_alerting=held.hold in ALERTING_HOLDS)


class FleetScalingView(View):
    """`desired_workers` and what it follows from, as of the last decision. `expected_wait_seconds`: none while
    something waits and no worker is ready or starting. `start_seconds`: what a start is taken to last."""

    fleet: str
    desired_workers: int
    ready: int
    starting: int
    draining: int
    busy: int
    queued: int
    backlog_seconds: float
    expected_wait_seconds: float | None
    spend_per_hour: float | None
    start_seconds: float | None
    reason: str
    text: str
    holds: list[HoldView]
    at: datetime | None
    adapter: str
    settings: ScalingSettingsView


class DecisionView(View):
    decided_at: datetime
    desired: int
    ready: int
    starting: int
    draining: int
    waiting: int
    reason: str
    text: str
    holds: list[HoldView]


class DecisionsView(View):
    """Those that changed something, newest first, at most 500."""

    decisions: list[DecisionView]


class ListedMachineView(View):
    """`id` is also its worker's, once that has registered. `start_s`: from launch to first lease."""

    id: str
    machine_class: str
    market: Market
    zone: str
    state: ListedState
    leases: int
    has_worker: bool
    launched_at: datetime
    start_s: float | None
    ended_at: datetime | None
    end_reason: str | None


class FleetMachinesView(View):
    """Those that run, then those that ended within the last hour; at most 200."""

    machines: list[ListedMachineView]


@router.get("/{slug}/{stage}/scaling", dependencies=SEE)
async def get_fleet_scaling(slug: Slug, stage: Stage, house: TheHouse) -> FleetScalingView:
    """How many workers the fleet should have, how many it has, and why. One number for KEDA: `desired_workers`."""
    async with house.control_tx(read_only=True) as tx:
        return _view(await machines.show_scaling(tx, await fleet.find_fleet(tx, slug, stage)))


@router.get("/{slug}/{stage}/scaling/decisions", dependencies=SEE)
async def get_scaling_decisions(
    slug: Slug,
    stage: Stage,
    house: TheHouse,
    seconds: Annotated[float, Query(ge=1, le=HISTORY_S_MAX, description="How far back.")] = 6 * 3600.0,
) -> DecisionsView:
    """What was decided, and why."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.find_fleet(tx, slug, stage)
        rows = await machines.list_decisions(tx, found.id, since_s=seconds)
    return DecisionsView(decisions=[_decision(each) for each in rows])


@router.get("/{slug}/{stage}/machines", dependencies=SEE)
async def get_fleet_machines(slug: Slug, stage: Stage, house: TheHouse) -> FleetMachinesView:
    """The machines that were launched for the fleet. Workers that were started by hand are none of them."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.find_fleet(tx, slug, stage)
        listed = await machines.list_fleet_machines(tx, found.id)
    return FleetMachinesView(machines=[_machine(each) for each in listed])


@router.put("/{slug}/{stage}/scaling")
async def set_fleet_scaling(
    slug: Slug, stage: Stage, body: ScalingSettingsBody, house: TheHouse, actor: Acting
) -> FleetScalingView:
    """Change how a fleet scales. Who provides its machines is set by `comfyfleet fleets scale` on the server."""
    settings = body.settings()
    async with house.control_tx() as tx:
        found = await fleet.find_fleet(tx, slug, stage)
        before = await machines.get_fleet_scaling(tx, found)
        await machines.set_fleet_scaling(
            tx, found, settings, adapter=before.adapter, adapter_settings=before.adapter_settings
        )
        facts = {"min_workers": settings.min_workers, "max_workers": settings.max_workers}
        await audit.record_action(tx, actor, Action("fleet.scale", f"{slug}/{stage}", facts), signer=house.chain)
        shown = _view(await machines.show_scaling(tx, found))
    house.desk.assignments_changed()
    return shown


@router.post("/{slug}/{stage}/scaling/resume")
async def resume_fleet_launches(slug: Slug, stage: Stage, house: TheHouse, actor: Acting) -> FleetScalingView:
    """Launch again at once, after what kept machines from registering was mended."""
    async with house.control_tx() as tx:
        found = await fleet.find_fleet(tx, slug, stage)
        await machines.resume_fleet_launches(tx, found)
        await audit.record_action(tx, actor, Action("fleet.resume_launches", f"{slug}/{stage}"), signer=house.chain)
        return _view(await machines.show_scaling(tx, found))


def _class(body: MachineClassBody) -> MachineClass:
    offers = tuple(Offer(each.market, each.price) for each in body.offers)
    return scaling.MachineClass(body.name, body.speed, body.memory_gb, offers, tuple(body.zones))


def _decision(row: DecisionRow) -> DecisionView:
    return DecisionView(
        decided_at=row.decided_at,
        desired=row.desired,
        ready=row.ready,
        starting=row.starting,
        draining=row.draining,
        waiting=row.waiting,
        reason=row.reason,
        text=row.text,
        holds=[HoldView.of(each) for each in row.held],
    )


def _machine(listed: ListedMachine) -> ListedMachineView:
    return ListedMachineView(
        id=listed.machine_id,
        machine_class=listed.machine_class,
        market=listed.market,
        zone=listed.zone,
        state=listed.state,
        leases=listed.leases,
        has_worker=listed.has_worker,
        launched_at=listed.launched_at,
        start_s=listed.start_s,
        ended_at=listed.ended_at,
        end_reason=listed.end_reason,
    )


def _view(report: ScalingReport) -> FleetScalingView:
    return FleetScalingView(
        fleet=report.fleet,
        desired_workers=report.desired,
        ready=report.ready,
        starting=report.starting,
        draining=report.draining,
        busy=report.busy,
        queued=report.queued,
        backlog_seconds=report.backlog_seconds,
        expected_wait_seconds=report.expected_wait_seconds,
        spend_per_hour=report.spend_per_hour,
        start_seconds=report.start_s,
        reason=report.reason,
        text=report.text,
        holds=[HoldView.of(each) for each in report.held],
        at=report.at,
        adapter=report.scaling.adapter,
        settings=ScalingSettingsView.model_validate(report.scaling.settings),
    )
