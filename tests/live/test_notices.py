"""What belongs to no job is told, too, so that no page has to ask for it again and again."""

import asyncio
import random
import time
from ipaddress import ip_network

import pytest

from comfyfleet import audit, fleet, machines, webhooks
from comfyfleet.audit import Action, Actor
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.live.model import OFFERS
from comfyfleet.scaling import MachineClass, ScalingSettings
from comfyfleet.scaling.fake_cloud import FakeCloud, FakeMachines
from comfyfleet.upkeep.deliver_webhooks import Courier
from comfyfleet.upkeep.scale_fleets import FleetScaler
from comfyfleet.webhooks import WebhookType
from tests.builders import Member, a_member, an_operator_key
from tests.receiver import a_receiver
from tests.watching import Reader, Replica, Stage, acquainted, listening, reading

LOOPBACK = [ip_network("127.0.0.0/8")]
OPERATORS = "/api/admin/live"


async def do(house: House, action: str) -> None:
    """As the command line does it: in another process, which tells this one nothing."""
    async with house.control_tx() as tx:
        await audit.record_action(tx, Actor("cli", "test"), Action(action, "something"), signer=house.chain)


def told(reader: Reader, event: str) -> int:
    return [each.event for each in reader.read].count(event)


async def test_operators_are_told_what_others_did_and_users_what_concerns_them(replica: Replica, owner: Member) -> None:
    key = await an_operator_key(replica.house)
    async with reading(replica, owner) as studio, listening(replica, OPERATORS, key) as console:
        # Of what was done before the first look nobody knows: whoever is there is told.
        await studio.until("effects")
        await console.until("status")
        await do(replica.house, "worker.drain")
        await console.until("actions")
        # Whoever was told of the second would have been told of the first before.
        await do(replica.house, "effect.publish")
        await console.until("actions")
        await studio.until("effects")
    assert told(studio, "effects") == 2


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_delivery_is_told_to_its_tenant_and_to_nobody_else(
    replica: Replica, stage: Stage, owner: Member
) -> None:
    house, stranger = replica.house, await a_member(replica.house)
    strange = await stage.job_of(stranger)
    courier = Courier(house, house.default_pool, chance=random.Random(1), allowed=LOOPBACK)
    async with a_receiver() as receiver, reading(replica, owner) as mine, reading(replica, stranger) as theirs:
        await theirs.until("status", job_id=str(strange))
        async with house.tenant_tx(owner.tenant) as tx:
            await webhooks.add_endpoint(tx, url=receiver.url, allowed=LOOPBACK)
            await webhooks.record_event(tx, WebhookType.JOB_COMPLETED, new_id(), {}, at=owner.tenant.created_at)
        assert await courier.tick() == 1
        await courier.finish()
        await mine.until("delivery")
        await stage.worker.lease(replica)
        await theirs.until("status", job_id=str(strange), status="processing")
    await courier.close()
    assert told(theirs, "delivery") == 0


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
async def test_operators_hear_of_tenants_at_whichever_replica(replica: Replica, other: Replica, owner: Member) -> None:
    key = await an_operator_key(replica.house)
    async with listening(other, OPERATORS, key) as console:
        await console.until("status")
        await console.until("status")
        before = told(console, "tenants")
        invited = await replica.client.post("/api/users", json={"email": "new@acme.test"}, headers=owner.headers)
        assert invited.status_code == 201, invited.text
        await console.until("tenants")
    assert told(console, "tenants") == before + 1


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
async def test_a_gallery_hears_at_whichever_replica_that_a_worker_left(
    replica: Replica, other: Replica, stage: Stage, owner: Member
) -> None:
    async with reading(other, owner) as studio:
        await studio.until("effects")  # whoever is new is told
        async with asyncio.timeout(10):
            while OFFERS not in replica.house.live.hub._ears:  # noqa: ASYNC110 nobody is told of an ear
                await asyncio.sleep(0.01)
        await stage.worker.say(replica, "poll", capabilities={"weights": []}, wait_seconds=0)
        await studio.until("effects")
        await stage.worker.say(replica, "deregister")
        await studio.until("effects")


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
async def test_who_lost_sight_of_another_replica_is_told_to_look(replica: Replica, other: Replica) -> None:
    """What it wanted to say meanwhile is lost."""
    key = await an_operator_key(replica.house)
    async with listening(other, OPERATORS, key) as console:
        await console.until("status")
        await console.until("status")
        before = told(console, "tenants")
        await other.house.live._part(replica.house.live.me.id)
        await acquainted(replica, other)
        await console.until("tenants")
    assert told(console, "tenants") == before + 1


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
async def test_operators_hear_that_a_fleet_was_scaled_at_whichever_replica(replica: Replica, other: Replica) -> None:
    key, house = await an_operator_key(replica.house), replica.house
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="test", name="Video")
        settings = ScalingSettings(classes=(MachineClass("gpu"),))
        await machines.set_fleet_scaling(tx, made, settings, adapter="command", adapter_settings={"command": "true"})
    scaler = FleetScaler(house, adapters=lambda *_: FakeMachines(FakeCloud(), time.time))
    async with listening(other, OPERATORS, key) as console:
        await console.until("status")
        await console.until("status")
        before = told(console, "scaling")
        await scaler.tick()
        await console.until("scaling")
    await scaler.close()
    assert told(console, "scaling") > before
