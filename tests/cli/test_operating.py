"""An operator at the terminal: a fleet, its secret, its workers, the queue."""

import asyncio
import json
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import pytest
import sqlalchemy as sa

from comfyfleet import dispatch, fleet
from comfyfleet.bootstrap import open_house
from comfyfleet.db.tables import audit_log, lanes
from comfyfleet.dispatch import Ask, FailureClass, Grant, Holder, LeaseProof, Leasing, Report
from comfyfleet.dispatch.settlements import park
from comfyfleet.fleet import NewWorker, Registration
from comfyfleet.house import House
from comfyfleet.kernel.errors import Unauthenticated
from comfyfleet.kernel.ids import LaneId
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings
from tests.cli.conftest import Command
from tests.database.dispatch.test_queue import Queue

T = TypeVar("T")
GRAPH = '{"1": {"class_type": "KSampler", "inputs": {}}}'


@dataclass
class Desk:
    """A home with a fleet; and a way into it, for what only workers and tenants do."""

    comfyfleet: Command

    def inside(self, work: Callable[[House], Awaitable[T]]) -> T:
        async def opened() -> T:
            async with open_house(Settings(home=self.comfyfleet.folder / ".comfyfleet"), makes_home=False) as house:
                return await work(house)

        return asyncio.run(opened())

    def register(self, name: str = "i-1") -> Registration:
        async def work(house: House) -> Registration:
            async with house.control_tx() as tx:
                found = await fleet.find_fleet(tx, "video", "production")
                return await fleet.register_worker(
                    tx, NewWorker(name, "10.0.0.7"), fleet=found, rules=house.fleet_rules
                )

        return self.inside(work)

    def enqueue(self) -> str:
        found = {each["slug"]: each for each in self.comfyfleet.json("workflows", "list")}["face-swap"]
        given = {"workflow_id": UUID(found["id"]), "structure_hash": found["structure_hash"]}
        return str(self.inside(lambda house: Queue(house).add(**given)))

    def lease(self, made: Registration) -> Grant:
        async def work(house: House) -> Grant:
            async with house.control_tx() as tx:
                every = frozenset(LaneId(row.id) for row in await tx.all(sa.select(lanes.c.id)))
                ask = Ask(Holder(made.worker.id, made.worker.incarnation), every, leases_max=5)
                leased = await dispatch.lease_dispatches(tx, [ask], Leasing(house.leases, house.queue_rules))
                return leased.grants[ask]

        return self.inside(work)

    def fail(self, made: Registration, grant: Grant, failure: FailureClass) -> None:
        proof = LeaseProof(grant.dispatch_id, grant.token, Holder(made.worker.id, made.worker.incarnation))
        report = Report(proof, "digest", failure=failure, error="it broke")

        async def work(house: House) -> None:
            async with house.control_tx() as tx:
                signer, rules = house.leases, house.queue_rules
                await dispatch.fail_dispatch(tx, report, signer=signer, rules=rules, chance=0.5)

        self.inside(work)

    def audited(self) -> list[tuple[str, str, dict[str, Any]]]:
        async def work(house: House) -> list[tuple[str, str, dict[str, Any]]]:
            async with house.control_tx(read_only=True) as tx:
                rows = await tx.all(sa.select(audit_log).order_by(audit_log.c.seq))
            assert {row.actor_kind for row in rows} <= {"cli"}
            return [(row.action, row.subject, json.loads(row.detail)) for row in rows]

        return self.inside(work)


@pytest.fixture
def desk(comfyfleet: Command) -> Desk:
    comfyfleet("db", "upgrade")
    (comfyfleet.folder / "graph.json").write_text(GRAPH)
    comfyfleet("workflows", "create", "face-swap", "graph.json")
    comfyfleet("fleets", "create", "video/production", "--name", "Video")
    comfyfleet("fleets", "assign", "video/production", "face-swap")
    return Desk(comfyfleet)


def test_from_nothing_to_the_command_that_starts_a_worker(desk: Desk, comfyfleet: Command) -> None:
    secret, *words = shlex.split(comfyfleet("fleets", "show-command", "video/production"))
    assert secret == "COMFYFLEET_FLEET_SECRET=<paste a fleet secret>"
    assert words[:2] + words[4:] == ["comfyfleet", "worker", "--fleet", "video", "--stage", "production"]
    filled = comfyfleet.json("fleets", "show-command", "video/production", "--new-secret")["command"]
    shown = Secret(shlex.split(filled)[0].removeprefix("COMFYFLEET_FLEET_SECRET="))

    async def registers(house: House) -> bool:
        async with house.control_tx(read_only=True) as tx:
            try:
                await fleet.require_fleet_secret(tx, shown)
            except Unauthenticated:
                return False
            return True

    assert desk.inside(registers)
    (listed,) = comfyfleet.json("fleet-secrets", "list")
    assert (listed["name"], listed["retired_at"]) == ("for video/production", None)
    assert comfyfleet.json("fleet-secrets", "retire", listed["id"])["retired_at"] is not None
    assert not desk.inside(registers)
    made = comfyfleet.json("fleet-secrets", "create", "gpu room", "--any-fleet")
    assert made["secret"].startswith("cfs_")
    said = str(desk.audited())
    assert shown.reveal() not in said
    assert made["secret"] not in said
    assert [action for action, _, _ in desk.audited()] == [
        "workflow.add",
        "fleet.create",
        "fleet.assign",
        "fleet_secret.create",
        "fleet_secret.retire",
        "fleet_secret.create",
    ]


def test_a_worker_is_seen_drained_revoked_and_pardoned(desk: Desk, comfyfleet: Command) -> None:
    made = desk.register()
    dispatch_id = desk.enqueue()
    desk.lease(made)
    table = comfyfleet("workers", "list")
    assert "i-1" in table
    assert "s ago" in table
    shown = comfyfleet.json("workers", "show", "i-1")
    assert [each["id"] for each in shown["leases"]] == [dispatch_id]
    assert shown["detail"]["assignments"][0]["workflow"] == "face-swap"
    assert dispatch_id in comfyfleet("workers", "show", "i-1")
    assert "still holds: 1" in comfyfleet("workers", "drain", "i-1")
    assert "went back to the queue: 1" in comfyfleet("workers", "revoke", "i-1")
    assert comfyfleet.json("dispatches", "show", dispatch_id)["dispatch"]["status"] == "queued"
    assert comfyfleet.json("workers", "approve", "i-1")["status"] == "approved"
    assert comfyfleet.json("workers", "rotate-token", "i-1")["token"]
    assert [each["worker_id"] for each in comfyfleet.json("workers", "list", "--fleet", "video/production")] == ["i-1"]
    assert comfyfleet.json("workers", "list", "--status", "draining") == []
    assert [action for action, _, _ in desk.audited()[3:]] == [
        "worker.drain",
        "worker.revoke",
        "worker.approve",
        "worker.rotate_token",
    ]
    comfyfleet("fleets", "unassign", "video/production", "face-swap")
    assert comfyfleet.json("fleets", "show", "video/production")["assignments"][0]["is_active"] is False
    assert "1 approved" in comfyfleet("fleets", "list")


def test_the_queue_is_looked_at_and_changed(desk: Desk, comfyfleet: Command) -> None:
    made = desk.register()
    first, second = desk.enqueue(), desk.enqueue()
    assert comfyfleet.json("dispatches", "set-priority", second, "7")["priority"] == 7
    assert str(desk.lease(made).dispatch_id) == second
    assert "not_waiting" in comfyfleet("dispatches", "set-priority", second, "8", code=4)
    assert "told, with its next heartbeat at the latest" in comfyfleet("dispatches", "cancel", second)
    assert f"{first} is cancelled" in comfyfleet("dispatches", "cancel", first)
    listed = comfyfleet.json("dispatches", "list", "--worker", "i-1", "--workflow", "face-swap")
    assert [each["id"] for each in listed] == [second]
    assert "1 of 3" in comfyfleet("dispatches", "list", "--status", "leased")
    assert "cancel asked for" in comfyfleet("dispatches", "show", second)
    assert comfyfleet.json("dispatches", "list", "--limit", "1")[0]["id"] == second


def test_a_block_is_named_by_its_first_letters(desk: Desk, comfyfleet: Command) -> None:
    made = desk.register()
    desk.enqueue()
    desk.fail(made, desk.lease(made), FailureClass.EXECUTION_ERROR)
    (block,) = comfyfleet.json("blocks", "list")
    assert (block["worker"], block["workflow"], block["failure_count"]) == ("i-1", "face-swap", 1)
    assert block["structure_hash"][:12] in comfyfleet("blocks", "list", "--worker", "i-1")
    assert "not_found" in comfyfleet("blocks", "clear", "i-1", "x", code=3)
    assert "again" in comfyfleet("blocks", "clear", "i-1", block["structure_hash"][:12])
    assert comfyfleet.json("blocks", "list") == []
    assert desk.audited()[-1] == ("block.clear", "i-1", {"structure_hash": block["structure_hash"]})


def test_a_parked_settlement_is_replayed(desk: Desk, comfyfleet: Command) -> None:
    comfyfleet("dispatches", "cancel", desk.enqueue())

    async def park_it(house: House) -> None:
        async with house.control_tx() as tx:
            (row,) = await tx.all(sa.text("SELECT id FROM settlements").columns(id=sa.Uuid()))
            await park(tx, row.id, error="the pool said no")

    desk.inside(park_it)
    (parked,) = comfyfleet.json("settlements", "list")
    assert parked["last_error"] == "the pool said no"
    assert "the pool said no" in comfyfleet("settlements", "list")
    assert "due again" in comfyfleet("settlements", "replay", parked["id"])
    assert comfyfleet.json("settlements", "list") == []
    assert "not_found" in comfyfleet("settlements", "replay", parked["id"], code=3)
    assert desk.audited()[-1][:2] == ("settlement.replay", parked["id"])


def test_a_workflow_is_switched_off_and_on(desk: Desk, comfyfleet: Command) -> None:
    assert comfyfleet.json("workflows", "deactivate", "face-swap")["is_active"] is False
    assert comfyfleet.json("workflows", "activate", "face-swap")["is_active"] is True
    assert "face-swap" in comfyfleet("workflows", "list")


LESSONS = [
    ("fleets assign video face-swap", 2, "such as video/production"),
    ("fleets create Video/production", 2, "lower-case"),
    ("fleets create video/production", 4, "exists already"),
    ("fleets assign video/production nothing", 3, "no workflow 'nothing'"),
    ("workflows create other missing.json", 2, "cannot read missing.json"),
    ("workflows create other other.json", 2, "is not JSON"),
    ("workers drain i-9", 3, "no worker 'i-9'"),
    ("dispatches list --worker i-9", 3, "no worker 'i-9'"),
    ("dispatches show 01a1df12-9ff8-750b-bb2f-f26b6e700223", 3, "no dispatch"),
    ("dispatches cancel nonsense", 2, "UUID"),
]


def test_errors_teach_and_nothing_refused_is_written_down(desk: Desk, comfyfleet: Command) -> None:
    (comfyfleet.folder / "other.json").write_text("{")
    before = desk.audited()
    for arguments, code, lesson in LESSONS:
        assert lesson in comfyfleet(*arguments.split(), code=code), arguments
    assert desk.audited() == before
