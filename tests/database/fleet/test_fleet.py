"""Workers register, take over, are held, drained, revoked; on both engines."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from comfyfleet import fleet, workflows
from comfyfleet.db.tables import comfyui_workers, fleet_secrets
from comfyfleet.fleet import (
    Fleet,
    FleetRules,
    FleetSecret,
    NameProof,
    NewWorker,
    Registration,
    Sighting,
    Worker,
    WorkerEvent,
    WorkerStatus,
)
from comfyfleet.fleet.lifecycle import WORKER
from comfyfleet.house import House
from comfyfleet.kernel.errors import (
    AlreadyExists,
    FleetSecretScope,
    Forbidden,
    IllegalMove,
    InvalidInput,
    LimitReached,
    NotFound,
    Superseded,
    Unauthenticated,
    WorkerLives,
    WorkerNameElsewhere,
    WorkerNameHeld,
)
from comfyfleet.kernel.ids import WorkflowId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret, new_secret
from tests.builders import a_workflow
from tests.conftest import ManualClock

RULES = FleetRules()


@dataclass
class Yard:
    """A fleet that may run one workflow."""

    house: House
    fleet: Fleet
    workflow_id: WorkflowId
    rules: FleetRules = RULES
    tokens: dict[str, Secret] = field(default_factory=dict)

    async def register(
        self,
        worker_id: str = "i-1",
        *,
        boot_id: str | None = "boot-1",
        capabilities: dict[str, Any] | None = None,
        **given: Any,
    ) -> Registration:
        """With the token of the worker's last life, as its journal has it, unless another proof is given."""
        new = NewWorker(worker_id, "127.0.0.1", boot_id=boot_id, capabilities=capabilities or {})
        proof = NameProof(last_token=self.tokens.get(worker_id))
        async with self.house.control_tx() as tx:
            said = {"fleet": self.fleet, "rules": self.rules, "proof": proof, **given}
            made = await fleet.register_worker(tx, new, **said)
        self.tokens[worker_id] = made.token
        return made

    async def move(self, event: WorkerEvent, worker_id: str = "i-1") -> Worker:
        async with self.house.control_tx() as tx:
            return await fleet.move_worker(tx, worker_id, event)

    async def who(self, token: Secret, worker_id: str = "i-1") -> Worker:
        async with self.house.control_tx(read_only=True) as tx:
            return await fleet.authenticate_worker(tx, token, worker_id=worker_id)

    async def held(self, worker: Worker) -> bool:
        async with self.house.control_tx() as tx:
            now = (await fleet.hold_workers(tx, [worker.id]))[worker.id]
        return fleet.refusal(now, worker) is None and now.status == WorkerStatus.APPROVED


@pytest.fixture
async def yard(house: House) -> Yard:
    workflow = await a_workflow(house, "face-swap")
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
    return Yard(house, made, workflow.id)


async def test_a_worker_registers_through_its_fleet_and_is_known_by_its_token(yard: Yard) -> None:
    made = await yard.register()
    assert (made.worker.status, made.worker.incarnation, made.took_over) == (WorkerStatus.APPROVED, 1, False)
    assert made.workflow_ids == {yard.workflow_id}
    assert await yard.who(made.token) == made.worker
    assert await yard.held(made.worker)


async def test_what_it_may_run_follows_the_assignments(yard: Yard) -> None:
    made = await yard.register()
    own = await a_workflow(yard.house, "upscale")
    other = await yard.register("i-2", fleet=None, own_workflows=[own.id])
    assert other.workflow_ids == {own.id}
    async with yard.house.control_tx() as tx:
        await fleet.assign_workflow(tx, yard.fleet.id, yard.workflow_id, is_active=False)
        assert await fleet.allowed_workflows(tx, made.worker) == {}
        await fleet.assign_workflow(tx, yard.fleet.id, yard.workflow_id)
        await workflows.set_workflow_active(tx, "face-swap", is_active=False)
        assert await fleet.allowed_workflows(tx, made.worker) == {}


async def test_the_same_name_again_is_a_take_over_and_the_old_process_is_told(yard: Yard) -> None:
    first, second = await yard.register(), await yard.register()
    assert (second.worker.id, second.worker.incarnation, second.took_over) == (first.worker.id, 2, True)
    with pytest.raises(Superseded):
        await yard.who(first.token)
    assert await yard.who(second.token) == second.worker
    assert not await yard.held(first.worker), "an earlier life gets no work"
    async with yard.house.control_tx() as tx:
        with pytest.raises(Superseded):
            await fleet.deregister_worker(tx, first.worker)
    assert (await yard.who(second.token)).status is WorkerStatus.APPROVED


async def test_the_name_of_a_live_worker_needs_proof_with_or_without_a_boot_id(yard: Yard, clock: ManualClock) -> None:
    for worker_id, boot_id in (("i-1", "boot-1"), ("i-2", None)):
        made = await yard.register(worker_id, boot_id=boot_id)
        wrong = NameProof(last_token=Secret("x" * 64), next_token=Secret("y" * 64))
        for proof in (NameProof(), wrong):
            for given in (boot_id, None, "boot-9"):
                with pytest.raises(WorkerNameHeld) as refused:
                    await yard.register(worker_id, boot_id=given, proof=proof)
        assert RULES.name_held_s / 2 < refused.value.retry_after_s <= RULES.name_held_s
        assert await yard.held(made.worker), "and it works on"
        assert (await yard.register(worker_id, boot_id=boot_id, proof=NameProof(holds_lease=True))).took_over
    clock.advance(RULES.name_held_s - 10)
    async with yard.house.control_tx() as tx:
        await fleet.touch_workers(tx, [Sighting(made.worker.id, ago_s=0.0, current_load=0)])
    clock.advance(11)
    assert (await yard.register("i-1", proof=NameProof())).took_over, "silent for long enough"
    with pytest.raises(WorkerNameHeld):
        await yard.register("i-2", proof=NameProof())


async def test_a_registration_whose_reply_was_lost_is_repeated_at_once_and_no_other_is_let_in(yard: Yard) -> None:
    """The first one, and one of a later life: only the worker has the token that it proposed."""
    last: Secret | None = None
    for incarnation in (1, 2):
        proof = NameProof(last_token=last, next_token=new_secret(size=48))
        lost = await yard.register(proof=proof)
        assert (lost.worker.incarnation, lost.repeated) == (incarnation, False)
        with pytest.raises(WorkerNameHeld):
            await yard.register(proof=NameProof(last_token=last, next_token=new_secret(size=48)))
        again = await yard.register(proof=proof)
        assert (again.worker.incarnation, again.token, again.repeated) == (incarnation, proof.next_token, True)
        assert await yard.who(again.token) == again.worker
        last = again.token


async def test_a_proposed_token_must_be_long_and_be_nobody_elses(yard: Yard) -> None:
    other = await yard.register("i-2")
    for token in (Secret("short"), Secret("a" * 42), Secret("b" * 129), Secret("c" * 60 + " "), other.token):
        with pytest.raises(InvalidInput):
            await yard.register("i-1", proof=NameProof(next_token=token))
    assert await yard.who(other.token, "i-2") == other.worker


async def test_a_rotated_token_proves_nothing_and_the_new_one_does(yard: Yard) -> None:
    made = await yard.register()
    async with yard.house.control_tx() as tx:
        token = await fleet.rotate_token(tx, "i-1")
    with pytest.raises(WorkerNameHeld):
        await yard.register(proof=NameProof(last_token=made.token))
    assert (await yard.register(proof=NameProof(last_token=token))).took_over


async def test_a_secret_of_one_fleet_takes_no_worker_of_another(yard: Yard, clock: ManualClock) -> None:
    """Neither live nor silent, with or without its token; one that has left changes fleets by its token, or in time."""
    made = await yard.register()
    alone = await yard.register("i-9", fleet=None, own_workflows=[yard.workflow_id])
    async with yard.house.control_tx() as tx:
        other = await fleet.create_fleet(tx, slug="audio", stage="production", name="Audio")
    theirs = {"fleet": other, "within": other.id}

    async def refused(worker_id: str, proof: NameProof) -> None:
        with pytest.raises(WorkerNameElsewhere):
            await yard.register(worker_id, **theirs, proof=proof)

    for worker_id, token in (("i-1", made.token), ("i-9", alone.token)):
        await refused(worker_id, NameProof(last_token=token))
    clock.advance(RULES.stale_worker_s + 1)
    for worker_id in ("i-1", "i-9"):
        await refused(worker_id, NameProof())
    back = await yard.register("i-1", proof=NameProof(), within=yard.fleet.id)
    await yard.move(WorkerEvent.LEAVE)
    await refused("i-1", NameProof())
    assert (await yard.register("i-1", **theirs, proof=NameProof(last_token=back.token))).worker.fleet_id == other.id
    await yard.move(WorkerEvent.LEAVE)
    clock.advance(RULES.stale_worker_s + 1)
    assert (await yard.register("i-1", proof=NameProof(), within=yard.fleet.id)).worker.fleet_id == yard.fleet.id


async def test_an_operator_frees_the_name_of_a_worker_that_is_away(yard: Yard, clock: ManualClock) -> None:
    await yard.register()

    async def forget() -> None:
        async with yard.house.control_tx() as tx:
            await fleet.forget_worker(tx, "i-1", rules=RULES)

    with pytest.raises(WorkerLives):
        await forget()
    clock.advance(RULES.name_held_s + 1)
    await forget()
    with pytest.raises(NotFound):
        await forget()
    async with yard.house.control_tx() as tx:
        other = await fleet.create_fleet(tx, slug="audio", stage="production", name="Audio")
    made = await yard.register(fleet=other, within=other.id, proof=NameProof())
    assert (made.worker.fleet_id, made.worker.incarnation) == (other.id, 1)
    await yard.move(WorkerEvent.REVOKE)
    clock.advance(RULES.stale_worker_s)
    with pytest.raises(Forbidden, match="stays revoked"):
        await forget()


async def test_of_ten_who_register_one_name_at_once_one_has_it(yard: Yard) -> None:
    """New: the first. With the token of the last life: the first, too, for then it is the last token no more."""
    for number in (1, 2):
        made = await asyncio.gather(*(yard.register() for _ in range(10)), return_exceptions=True)
        (won,) = [each for each in made if isinstance(each, Registration)]
        assert [type(each) for each in made if each is not won] == [WorkerNameHeld] * 9
        assert won.worker.incarnation == number
        assert await yard.who(won.token) == won.worker
        yard.tokens["i-1"] = won.token


async def test_two_machines_that_fight_over_a_name_are_stopped(yard: Yard, clock: ManualClock) -> None:
    for number in range(RULES.takeovers_max + 1):
        await yard.register(boot_id=f"boot-{number % 2}")
    with pytest.raises(Forbidden, match="Two machines"):
        await yard.register(boot_id="boot-0")
    clock.advance(RULES.takeover_window_s + 1)
    assert (await yard.register(boot_id="boot-0")).took_over


async def test_one_machine_that_restarts_often_is_not(yard: Yard) -> None:
    for _ in range(RULES.takeovers_max * 3):
        made = await yard.register()
    assert made.worker.status is WorkerStatus.APPROVED


async def test_the_cap_of_a_fleet_is_exact_and_counts_the_living(yard: Yard, clock: ManualClock) -> None:
    yard.rules = replace(RULES, max_fleet_workers=3)

    async def try_one(number: int) -> bool:
        try:
            await yard.register(f"i-{number}")
        except LimitReached:
            return False
        return True

    assert (await asyncio.gather(*(try_one(number) for number in range(8)))).count(True) == 3
    clock.advance(RULES.stale_worker_s + 1)
    assert await try_one(100)


async def test_workers_without_a_fleet_are_counted_together(yard: Yard) -> None:
    yard.rules = replace(RULES, max_workers_without_fleet=3)
    alone = {"fleet": None, "own_workflows": [yard.workflow_id]}
    made = await asyncio.gather(*(yard.register(f"i-{n}", **alone) for n in range(8)), return_exceptions=True)
    assert [type(each) for each in made].count(LimitReached) == 5
    await yard.register("i-100")


@pytest.mark.parametrize("given", [{"fleet": None}, {"worker_id": ""}, {"worker_id": "a b"}, {"worker_id": "x" * 129}])
async def test_a_registration_that_makes_no_sense_is_refused(yard: Yard, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await yard.register(**given)


@pytest.mark.parametrize("state", list(WorkerStatus))
@pytest.mark.parametrize("event", list(WorkerEvent))
async def test_every_move_of_a_worker(yard: Yard, state: WorkerStatus, event: WorkerEvent) -> None:
    """Only an approved one is given work; the seeds' two columns follow; asking for what is so changes nothing."""
    yard.rules = replace(RULES, approves_by_itself=state is not WorkerStatus.PENDING)
    await yard.register()
    path = {WorkerStatus.DRAINING: "drain", WorkerStatus.REVOKED: "revoke", WorkerStatus.GONE: "leave"}
    if state in path:
        await yard.move(WorkerEvent(path[state]))
    if (state, event) in WORKER.moves or WORKER.target(event) == state:
        moved = await yard.move(event)
        assert moved.status == WORKER.target(event)
        assert await yard.held(moved) is (moved.status is WorkerStatus.APPROVED)
    else:
        with pytest.raises(IllegalMove):
            await yard.move(event)


@pytest.mark.parametrize("way", ["it is killed", "it leaves"])
async def test_a_drained_worker_that_comes_back_is_still_drained(yard: Yard, way: str) -> None:
    """Whatever starts its process again, systemd or a scaling group, does not undo what an operator said."""
    await yard.register()
    await yard.move(WorkerEvent.DRAIN)
    if way == "it leaves":
        await yard.move(WorkerEvent.LEAVE)
    back = await yard.register()
    assert back.worker.status is WorkerStatus.DRAINING
    assert await yard.held(back.worker) is False
    await yard.move(WorkerEvent.APPROVE)
    await yard.move(WorkerEvent.LEAVE)
    assert (await yard.register()).worker.status is WorkerStatus.APPROVED


async def test_a_drain_that_was_ended_while_the_worker_was_away_is_over(yard: Yard) -> None:
    await yard.register()
    for event in (WorkerEvent.DRAIN, WorkerEvent.LEAVE, WorkerEvent.APPROVE, WorkerEvent.LEAVE):
        await yard.move(event)
    assert (await yard.register()).worker.status is WorkerStatus.APPROVED


async def test_an_approval_by_a_replica_that_knows_no_drains_ends_it_all_the_same(yard: Yard) -> None:
    """During an upgrade: it changes the status, and leaves the older mark behind."""
    made = await yard.register()
    await yard.move(WorkerEvent.DRAIN)
    async with yard.house.central.engine.begin() as connection:
        old = {"status": WorkerStatus.APPROVED, "is_draining": False}
        await connection.execute(comfyui_workers.update().where(comfyui_workers.c.id == made.worker.id).values(**old))
    await yard.move(WorkerEvent.LEAVE)
    assert (await yard.register()).worker.status is WorkerStatus.APPROVED


async def test_a_revoked_worker_cannot_come_back_by_itself(yard: Yard) -> None:
    made = await yard.register()
    await yard.move(WorkerEvent.REVOKE)
    with pytest.raises(Unauthenticated):
        await yard.who(made.token)
    with pytest.raises(Forbidden, match="revoked"):
        await yard.register()
    approved = await yard.move(WorkerEvent.APPROVE)
    assert approved.incarnation == made.worker.incarnation + 1
    with pytest.raises(Superseded):
        await yard.who(made.token)  # what was revoked stays so, though its name is welcome again
    assert (await yard.register()).worker.status is WorkerStatus.APPROVED


async def test_a_revocation_and_a_poll_take_turns(yard: Yard) -> None:
    """Held: the revocation waits. Revoked: nothing is held. Never both."""
    made = await yard.register()
    holding, done = asyncio.Event(), asyncio.Event()

    async def poll() -> None:
        async with yard.house.control_tx() as tx:
            assert made.worker.id in await fleet.hold_workers(tx, [made.worker.id])
            holding.set()
            await asyncio.sleep(0.2)
            assert not done.is_set()

    async def revoke() -> None:
        await holding.wait()
        await yard.move(WorkerEvent.REVOKE)
        done.set()

    await asyncio.gather(poll(), revoke())
    assert not await yard.held(made.worker)


async def test_leaving_and_coming_back_does_not_stand_in_for_an_approval(yard: Yard) -> None:
    yard.rules = replace(RULES, approves_by_itself=False)
    await yard.register()
    await yard.move(WorkerEvent.LEAVE)
    assert (await yard.register()).worker.status is WorkerStatus.PENDING


async def test_leaving_returning_and_silence(yard: Yard, clock: ManualClock) -> None:
    made = await yard.register()
    async with yard.house.control_tx() as tx:
        assert (await fleet.deregister_worker(tx, made.worker)).status is WorkerStatus.GONE
    back = await yard.register()
    assert back.worker.status is WorkerStatus.APPROVED
    clock.advance(RULES.stale_worker_s - 10)
    async with yard.house.control_tx() as tx:
        await fleet.touch_workers(tx, [Sighting(back.worker.id, ago_s=0.0, current_load=1)])
    clock.advance(20)
    async with yard.house.control_tx() as tx:
        assert await fleet.retire_stale(tx, stale_s=RULES.stale_worker_s) == []
    clock.advance(RULES.stale_worker_s)
    async with yard.house.control_tx() as tx:
        assert await fleet.retire_stale(tx, stale_s=RULES.stale_worker_s) == [back.worker.id]


async def test_a_rotated_token_replaces_the_old_one(yard: Yard) -> None:
    made = await yard.register()
    async with yard.house.control_tx() as tx:
        token = await fleet.rotate_token(tx, "i-1")
    assert await yard.who(token) == made.worker
    with pytest.raises(Superseded):
        await yard.who(made.token)


async def test_several_fleet_secrets_are_valid_until_retired(house: House) -> None:
    async with house.control_tx() as tx:
        kept, first = await fleet.make_fleet_secret(tx, name="old", fleet_id=None, allows_workflows=True)
        _, second = await fleet.make_fleet_secret(tx, name="new", fleet_id=None, allows_workflows=True)
        await fleet.require_fleet_secret(tx, first)
        await fleet.require_fleet_secret(tx, second)
        retired = [await fleet.retire_fleet_secret(tx, kept.id) for _ in range(2)]
        assert retired[0] == retired[1], "asking twice is asking once"
        with pytest.raises(Unauthenticated):
            await fleet.require_fleet_secret(tx, first)
        await fleet.require_fleet_secret(tx, second)
        with pytest.raises(Unauthenticated):
            await fleet.require_fleet_secret(tx, Secret(""))
        with pytest.raises(NotFound):
            await fleet.retire_fleet_secret(tx, new_id())
        page = await fleet.list_fleet_secrets(tx, PageRequest(rows=1))
    assert [(each.name, each.retired_at) for each in page.rows] == [("new", None)]
    assert page.next_cursor is not None


async def test_a_secret_opens_its_fleet_and_workflows_only_where_that_was_said(yard: Yard) -> None:
    async with yard.house.control_tx() as tx:
        other = await fleet.create_fleet(tx, slug="video", stage="staging", name="Video")
        own, _ = await fleet.make_fleet_secret(tx, name="own", fleet_id=yard.fleet.id)
        any_, _ = await fleet.make_fleet_secret(tx, name="any", fleet_id=None)
        free, _ = await fleet.make_fleet_secret(tx, name="free", fleet_id=None, allows_workflows=True)
    opened = {
        (secret.name, crew.stage if crew else None, names)
        for secret in (own, any_, free)
        for crew in (yard.fleet, other, None)
        for names in (False, True)
        if (crew or names) and _opens(secret, crew, names_workflows=names)
    }
    assert opened == {
        ("own", "production", False),
        ("any", "production", False),
        ("any", "staging", False),
        *(("free", stage, names) for stage in ("production", "staging") for names in (False, True)),
        ("free", None, True),
    }


def _opens(secret: FleetSecret, crew: Fleet | None, *, names_workflows: bool) -> bool:
    try:
        fleet.require_scope(secret, fleet=crew, names_workflows=names_workflows)
    except FleetSecretScope:
        return False
    return True


async def test_a_secret_from_before_scopes_opens_everything_and_is_named(yard: Yard) -> None:
    """As a replica that knows no scopes still writes them during an upgrade."""
    async with yard.house.control_tx() as tx:
        made, secret = await fleet.make_fleet_secret(tx, name="old", fleet_id=None)
        await fleet.make_fleet_secret(tx, name="new", fleet_id=None)
    async with yard.house.central.engine.begin() as connection:
        row = fleet_secrets.update().where(fleet_secrets.c.id == made.id)
        await connection.execute(row.values(fleet_id=None, allows_workflows=None))
    async with yard.house.control_tx() as tx:
        found = await fleet.require_fleet_secret(tx, secret)
        assert [each.name for each in await fleet.secrets_without_scope(tx)] == ["old"]
    assert (found.has_scope, found.allows_workflows, found.fleet) == (False, True, None)
    fleet.require_scope(found, fleet=yard.fleet, names_workflows=True)


async def test_a_fleet_is_a_slug_and_a_stage(house: House) -> None:
    async with house.control_tx() as tx:
        for stage in ("staging", "production"):
            await fleet.create_fleet(tx, slug="video", stage=stage, name="Video")
        assert (await fleet.find_fleet(tx, "video", "staging")).stage == "staging"
        with pytest.raises(NotFound):
            await fleet.find_fleet(tx, "video", "test")
        with pytest.raises(InvalidInput):
            await fleet.create_fleet(tx, slug="Video", stage="x", name="x")
    with pytest.raises(AlreadyExists):
        async with house.control_tx() as tx:
            await fleet.create_fleet(tx, slug="video", stage="staging", name="again")
