"""An effect is sold only where a worker can run it, now or later; and who waits is told why; on both engines."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from comfyfleet import fleet, pipelines
from comfyfleet.db.dialect import seconds_from_now
from comfyfleet.db.tables import capability_lists, comfyui_workers
from comfyfleet.fleet import Fleet, NewWorker, Registration, WorkerEvent
from comfyfleet.house import House
from comfyfleet.pipelines import RunStatus
from comfyfleet.upkeep import forget_old, relay_submissions, resume_runs, retire_workers
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.workflows import effects
from comfyfleet.workflows.effects import EffectChange, NewEffect
from tests.builders import Member, a_member, a_workflow, an_operator_key, balance
from tests.conftest import ManualClock
from tests.database.pipelines.studio import Studio as RunStudio

GRAPH = {
    "1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "sd.safetensors"}},
    "2": {"class_type": "SecretSampler", "inputs": {"model": ["1", 0]}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "x"}},
}
CLASSES = ["CheckpointLoaderSimple", "SecretSampler", "SaveImage"]
WHOLE = {"node_classes": CLASSES, "weights": ["sd.safetensors"]}
NO_WEIGHT = {"node_classes": CLASSES, "weights": ["other.safetensors"]}
NO_NODE = {"node_classes": CLASSES[:1], "weights": ["sd.safetensors"]}
PRICE, CREDIT = 10, 100
DAY_S = 86_400.0
# A name is free when its worker has been silent for a lease.
SILENT_S = 120.0


@dataclass
class Shop:
    """One effect, its fleet, a user who can pay for it, and an operator."""

    house: House
    client: httpx2.AsyncClient
    member: Member
    operator: dict[str, str]
    fleet: Fleet
    clock: ManualClock
    workers: dict[str, Registration] = field(default_factory=dict)

    @classmethod
    async def open(cls, house: House, client: httpx2.AsyncClient, clock: ManualClock, **given: Any) -> "Shop":
        workflow = await a_workflow(house, "draw-graph", graph=GRAPH, **given)
        async with house.control_tx() as tx:
            crew = await fleet.create_fleet(tx, slug="crew", stage="test", name="Crew")
            await fleet.assign_workflow(tx, crew.id, workflow.id)
            await effects.add_effect(tx, NewEffect("draw", "Draw", credits_cost=PRICE), workflow=workflow.slug)
            await effects.publish_effect(tx, "draw")
        member = await a_member(house, tokens=CREDIT)
        return cls(house, client, member, await an_operator_key(house), crew, clock)

    async def register(self, name: str, has: dict[str, Any], *, providers: tuple[str, ...] = ("self_hosted",)) -> None:
        """As another replica would: nothing is announced here."""
        new = NewWorker(name, "127.0.0.1", capabilities=has, providers=providers)
        async with self.house.control_tx() as tx:
            self.workers[name] = await fleet.register_worker(tx, new, fleet=self.fleet, rules=self.house.fleet_rules)

    async def leave(self, name: str) -> None:
        token = {"Authorization": f"Bearer {self.workers[name].token.reveal()}"}
        answer = await self.client.post("/api/worker/deregister", json={"worker_id": name}, headers=token)
        assert answer.status_code == 200, answer.text

    async def leave_for_good(self, name: str) -> None:
        await self.leave(name)
        await self.give_up(name)

    async def give_up(self, name: str) -> None:
        """It has not been seen for too long."""
        before = seconds_from_now(-self.house.fleet_rules.stale_worker_s - 1)
        async with self.house.control_tx() as tx:
            workers = sa.update(comfyui_workers).where(comfyui_workers.c.worker_id == name)
            await tx.run(workers.values(last_seen_at=before))
        self.house.desk.availability.forget()

    def later(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.house.desk.availability.forget()

    async def shown(self) -> dict[str, Any]:
        """As the list and the effect's own page have it: the same."""
        listed = (await self.client.get("/api/effects", headers=self.member.headers)).json()["effects"][0]
        one = (await self.client.get("/api/effects/draw", headers=self.member.headers)).json()
        assert listed == one
        return dict(one)

    async def for_operators(self) -> dict[str, Any]:
        return dict((await self.client.get("/api/admin/effects/draw", headers=self.operator)).json())

    async def order(self, **given: Any) -> httpx2.Response:
        return await self.client.post("/api/ai-jobs", json={"effect": "draw", **given}, headers=self.member.headers)

    async def ordered(self, **given: Any) -> str:
        answer = await self.order(**given)
        assert answer.status_code == 201, answer.text
        await relay_submissions.tick(self.house, "main")
        return str(answer.json()["id"])

    async def refused(self, reason: str) -> None:
        answer = await self.order()
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "effect_unavailable"), answer.text
        assert reason in answer.json()["error"]["message"]

    async def queue(self, job_id: str) -> dict[str, Any]:
        found = (await self.client.get(f"/api/ai-jobs/{job_id}", headers=self.member.headers)).json()
        assert found["status"] == "queued"
        return dict(found["queue"])

    async def balance(self) -> int:
        return await balance(self.house, self.member.tenant, self.member.user)


@pytest.fixture
async def shop(house: House, client: httpx2.AsyncClient, clock: ManualClock) -> Shop:
    return await Shop.open(house, client, clock)


async def test_what_no_worker_can_run_is_refused_before_tokens_are_reserved_and_says_what_is_missing(
    shop: Shop,
) -> None:
    await shop.refused("no worker that can run it is connected")
    assert "crew/test" in (await shop.for_operators())["lacks"]

    await shop.register("gpu-1", NO_WEIGHT)
    shown, operators = await shop.shown(), await shop.for_operators()
    assert shown["unavailable_because"] == "no worker has all the model files that it needs"
    assert operators["lacks"] == "gpu-1 lacks weights: sd.safetensors"
    assert not {"lacks", "misfit"} & shown.keys(), "names are for operators"
    await shop.refused("model files")

    # Together they have everything; neither of them has.
    await shop.register("gpu-2", NO_NODE)
    await shop.refused("no worker has all the")
    lacks = (await shop.for_operators())["lacks"]
    assert "gpu-2 lacks node classes: SaveImage, SecretSampler" in lacks
    assert "gpu-1 lacks weights" in lacks

    run = await shop.client.post("/api/effects/draw/run", json={}, headers=shop.member.headers)
    assert (run.status_code, run.json()["error"]["code"]) == (422, "effect_unavailable")
    assert await shop.balance() == CREDIT

    # The refusals are remembered here, and the worker registers elsewhere: the rows decide.
    await shop.register("gpu-3", WHOLE)
    await shop.ordered()
    assert await shop.balance() == CREDIT - PRICE
    assert (await shop.shown())["unavailable_because"] is None
    assert (await shop.for_operators())["lacks"] is None


async def test_memory_counts_and_a_worker_that_says_nothing_is_believed(
    house: House, client: httpx2.AsyncClient, clock: ManualClock
) -> None:
    shop = await Shop.open(house, client, clock, vram_gb=24.0)
    await shop.register("small", {**WHOLE, "vram_gb": 8.0})
    await shop.refused("no worker has all the GPU memory that it needs")
    await shop.register("silent", {})
    await shop.ordered()


async def test_a_cloud_effect_needs_a_worker_of_the_cloud(
    house: House, client: httpx2.AsyncClient, clock: ManualClock
) -> None:
    shop = await Shop.open(house, client, clock, provider="cloud")
    await shop.register("gpu-1", WHOLE)
    await shop.refused("no worker that can run it is connected")
    await shop.register("sky-1", {}, providers=("cloud",))
    await shop.ordered()


async def test_while_the_able_worker_is_away_an_order_is_taken_and_says_why_it_waits(shop: Shop) -> None:
    await shop.register("gpu-1", WHOLE)
    assert (await shop.shown())["waits_because"] is None
    shop.later(600.0)
    shown = await shop.shown()
    assert shown["unavailable_because"] is None
    assert shown["waits_because"] == "no worker that can run it is online; a job waits until one is back"
    queue = await shop.queue(await shop.ordered())
    assert queue["waits_because"] == "No worker that can run it is online; a job waits until one is back."
    assert queue["deadline_at"] is not None
    assert queue["estimated_start_s"] is None

    shop.later(shop.house.fleet_rules.stale_worker_s)
    await shop.refused("no worker that can run it is connected")
    await retire_workers.tick(shop.house)
    await shop.refused("no worker that can run it is connected")


async def test_a_worker_that_signed_off_is_waited_for_until_it_is_given_up(shop: Shop) -> None:
    """It restarts, as a rule: nobody should find the effect closed meanwhile."""
    await shop.register("gpu-1", WHOLE)
    await shop.leave("gpu-1")
    shown = await shop.shown()
    assert shown["unavailable_because"] is None
    assert shown["waits_because"] == "no worker that can run it is online; a job waits until one is back"
    queue = await shop.queue(await shop.ordered())
    assert queue["waits_because"] == "No worker that can run it is online; a job waits until one is back."
    assert queue["deadline_at"] is not None
    assert queue["estimated_start_s"] is None
    await shop.give_up("gpu-1")
    await shop.refused("no worker that can run it is connected")


async def test_a_worker_with_workflows_of_its_own_is_waited_for_too(
    house: House, client: httpx2.AsyncClient, clock: ManualClock
) -> None:
    shop = await Shop.open(house, client, clock)
    new = NewWorker("alone", "127.0.0.1", capabilities=WHOLE)
    async with house.control_tx() as tx:
        own = [(await effects.find_offer(tx, "draw")).workflow.id]
        shop.workers["alone"] = await fleet.register_worker(
            tx, new, fleet=None, own_workflows=own, rules=house.fleet_rules
        )
    await shop.leave("alone")
    assert (await shop.shown())["waits_because"] == "no worker that can run it is online; a job waits until one is back"
    await shop.ordered()


async def test_a_worker_that_an_operator_must_approve_again_is_not_waited_for(shop: Shop) -> None:
    await shop.register("gpu-1", WHOLE)
    await shop.leave("gpu-1")
    by_hand = replace(shop.house.fleet_rules, approves_by_itself=False)
    async with shop.house.control_tx(read_only=True) as tx:
        workflow_id = (await effects.find_offer(tx, "draw")).workflow.id
        asked = {"by itself": shop.house.fleet_rules, "by hand": by_hand}
        can_run = {
            name: (await fleet.read_availability(tx, [workflow_id], rules=rules))[workflow_id].can_run
            for name, rules in asked.items()
        }
    assert can_run == {"by itself": True, "by hand": False}


async def test_a_queued_job_says_when_its_last_able_worker_left(shop: Shop) -> None:
    await shop.register("gpu-1", WHOLE)
    await shop.register("gpu-2", NO_NODE)
    job_id = await shop.ordered()
    queue = await shop.queue(job_id)
    assert (queue["waits_because"], queue["estimated_start_s"] is None) == (None, False)
    await shop.leave("gpu-1")
    queue = await shop.queue(job_id)
    assert queue["waits_because"] == "No worker that can run it is online; a job waits until one is back."
    await shop.give_up("gpu-1")
    queue = await shop.queue(job_id)
    assert queue["waits_because"] == "No worker has all the nodes that it needs."
    assert queue["deadline_at"] is not None
    await shop.refused("nodes")


async def test_a_fleet_that_scales_from_zero_sells_what_its_last_machines_had(shop: Shop) -> None:
    await shop.register("gpu-1", WHOLE)
    shop.later(SILENT_S)
    await shop.register("gpu-1", {**WHOLE, "vram_gb": 1.0})  # another kind of machine under its name
    await shop.leave_for_good("gpu-1")
    await shop.refused("no worker that can run it is connected")
    path = f"/api/admin/fleets/{shop.fleet.id}/scaling"
    answer = await shop.client.put(path, json={"scales_from_zero": True}, headers=shop.operator)
    assert (answer.status_code, answer.json()["scales_from_zero"]) == (200, True)
    assert (await shop.shown())["waits_because"] == "a worker that can run it has to start first; a job waits for it"
    assert (await shop.queue(await shop.ordered()))["waits_because"].startswith("A worker that can run it has to start")

    # Long after, when no worker has these lists any more, the fleet still knows.
    shop.later(40 * DAY_S)
    await shop.register("gpu-1", NO_NODE)
    await shop.leave_for_good("gpu-1")
    await forget_old.tick(shop.house, rules=UpkeepRules())
    async with shop.house.control_tx(read_only=True) as tx:
        kept = [row.lists["node_classes"] for row in await tx.all(sa.select(capability_lists.c.lists))]
    assert kept == [CLASSES[:1]], "what was seen long before the newest machine is not started any more"
    await shop.refused("nodes")
    assert (await shop.for_operators())["lacks"].startswith("the fleet crew/test lacks node classes")

    await shop.client.put(path, json={"scales_from_zero": False}, headers=shop.operator)
    await shop.refused("no worker that can run it is connected")


async def test_a_fleet_keeps_the_lists_of_its_latest_kinds_of_machines_and_no_more(shop: Shop) -> None:
    for number in range(12):
        shop.later(SILENT_S)
        await shop.register("gpu-1", {**WHOLE, "vram_gb": float(number)})
    await shop.leave("gpu-1")
    await forget_old.tick(shop.house, rules=UpkeepRules())
    async with shop.house.control_tx(read_only=True) as tx:
        kept = {row.lists["vram_gb"] for row in await tx.all(sa.select(capability_lists.c.lists))}
    assert kept == {float(number) for number in range(4, 12)}


async def test_an_effect_that_waits_for_a_worker_is_sold_without_one(shop: Shop) -> None:
    change = {"waits_for_worker": True}
    answer = await shop.client.patch("/api/admin/effects/draw", json=change, headers=shop.operator)
    assert (answer.status_code, answer.json()["waits_for_worker"]) == (200, True)
    shown = await shop.shown()
    assert (shown["unavailable_because"], shown["waits_because"]) == (None, "no worker that can run it is connected")
    await shop.ordered()
    await shop.client.patch("/api/admin/effects/draw", json={"waits_for_worker": False}, headers=shop.operator)
    await shop.refused("no worker that can run it is connected")


async def test_a_retry_is_refused_like_an_order_and_what_was_answered_is_answered_again(shop: Shop) -> None:
    await shop.register("gpu-1", WHOLE)
    job_id = await shop.ordered(idempotency_key="k")
    cancelled = await shop.client.post(f"/api/ai-jobs/{job_id}/cancel", headers=shop.member.headers)
    assert cancelled.json()["status"] == "cancelled"
    await shop.leave_for_good("gpu-1")
    retry = await shop.client.post(f"/api/ai-jobs/{job_id}/retry", json={}, headers=shop.member.headers)
    assert (retry.status_code, retry.json()["error"]["code"]) == (422, "effect_unavailable")
    assert await shop.balance() == CREDIT
    assert (await shop.order(idempotency_key="k")).json()["id"] == job_id


@pytest.mark.parametrize("event", [WorkerEvent.DRAIN, WorkerEvent.REVOKE])
async def test_a_worker_that_may_not_work_sells_nothing(shop: Shop, event: WorkerEvent) -> None:
    await shop.register("gpu-1", WHOLE)
    await shop.ordered()
    verb = {WorkerEvent.DRAIN: "drain", WorkerEvent.REVOKE: "revoke"}[event]
    answer = await shop.client.post(f"/api/admin/workers/gpu-1/{verb}", headers=shop.operator)
    assert answer.status_code == 200
    await shop.refused("no worker that can run it is connected")
    if event is WorkerEvent.DRAIN:  # as a worker does that an operator wants gone; started again, it waits
        await shop.leave("gpu-1")
        await shop.refused("no worker that can run it is connected")


@contextmanager
def counted(house: House) -> Iterator[list[str]]:
    """The statements of the central database."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    engine = house.central.engine.sync_engine
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)


async def test_an_order_costs_no_query_for_what_is_known_already(shop: Shop) -> None:
    await shop.register("gpu-1", WHOLE)
    await shop.order()
    with counted(shop.house) as seen:
        assert (await shop.order()).status_code == 201
    assert not [each for each in seen if "comfyui_workers" in each or "fleet_inventories" in each]


async def test_a_run_whose_next_step_no_worker_can_run_pauses_with_the_reason_and_goes_on_by_itself(
    house: House,
) -> None:
    studio = await RunStudio.open(house)
    async with house.control_tx() as tx:
        await effects.change_effect(tx, "base", EffectChange(waits_for_worker=False))
    run_id = await studio.start()
    await studio.advance()
    run = await studio.run(run_id)
    assert (run.status, run.jobs_started) == (RunStatus.PAUSED, 0)
    assert run.status_reason is not None
    assert run.status_reason.startswith("effect_unavailable:base: The effect 'base' cannot be used now: no worker")
    assert await resume_runs.tick(house, "main") == 0
    assert (await studio.run(run_id)).status is RunStatus.PAUSED

    async with house.control_tx() as tx:
        offer = await effects.find_offer(tx, "base")
        await fleet.register_worker(
            tx, NewWorker("gpu-1", "127.0.0.1"), fleet=None, own_workflows=[offer.workflow.id], rules=house.fleet_rules
        )
    assert await resume_runs.tick(house, "main") == 1
    await studio.advance()
    run = await studio.run(run_id)
    assert (run.status, run.jobs_started > 0) == (RunStatus.RUNNING, True)
    assert await resume_runs.tick(house, "main") == 0


async def test_a_run_that_a_person_paused_stays_paused(house: House) -> None:
    studio = await RunStudio.open(house)
    run_id = await studio.start()
    await studio.say(pipelines.pause_run, run_id)
    assert await resume_runs.tick(house, "main") == 0
    assert (await studio.run(run_id)).status is RunStatus.PAUSED
