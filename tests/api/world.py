"""Everything there is, owned by everybody: an attacker's colleagues, another tenant, a tenant of another pool, and
the installation. Whose ids does an attacker get something for?"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx2
import sqlalchemy as sa
from pydantic import SecretStr

from comfyfleet import audit, fleet, notifications
from comfyfleet.audit import Actor, FoundFault
from comfyfleet.db.tables import CENTRAL, TENANT, settlements
from comfyfleet.dispatch.settlements import park
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId, SettlementId
from comfyfleet.notifications import ActingOperator, ChannelKind, NewChannel
from comfyfleet.settings import Settings
from comfyfleet.tenants import Role
from comfyfleet.upkeep import advance_runs
from tests.api import ordering
from tests.api.asking import Operation
from tests.builders import Member, a_member, a_tenant, a_user, a_workflow, an_effect, credit
from tests.conftest import Databases
from tests.database.dispatch.test_queue import Queue
from tests.database.pipelines.studio import Studio
from tests.database.videos.shelf import a_video

FILE = {"name": "canary.png", "mime_type": "application/octet-stream", "size": 3}
SECOND = "second"
Ids = dict[str, dict[str, object]]


def with_two_pools(settings: Settings, databases: Databases) -> Settings:
    pools = {**settings.pools, SECOND: SecretStr(databases.make("tenant"))}
    return settings.model_copy(update={"pools": pools, "default_pool": "main"})


async def rows(house: House) -> dict[str, list[tuple[Any, ...]]]:
    """Everything there is, but for when a key was last used."""
    found = {}
    for database, metadata in [(house.central, CENTRAL), *((pool, TENANT) for pool in house.pools.values())]:
        async with database.engine.connect() as connection:
            for table in metadata.sorted_tables:
                columns = [column for column in table.c if column.name != "last_used_at"]
                result = await connection.execute(sa.select(*columns).order_by(*table.primary_key))
                found[f"{database.name}.{table.name}"] = [tuple(row) for row in result]
    return found


@dataclass(frozen=True)
class World:
    """An attacker with all rights in a tenant, and whose ids it has got hold of."""

    attackers: dict[str, dict[str, str]]
    foreign: Ids


async def a_file(client: httpx2.AsyncClient, owner: Member, *, stored: bool) -> str:
    announced = (await client.post("/api/files", json=FILE, headers=owner.headers)).json()
    if stored:
        put = announced["upload"]["requests"][0]
        assert (await client.put(put["url"], content=b"abc", headers=put["headers"])).status_code == 200
        confirm = f"/api/files/{announced['file']['id']}/confirm"
        assert (await client.post(confirm, json={}, headers=owner.headers)).status_code == 200
    return str(announced["file"]["id"])


async def a_key_id(client: httpx2.AsyncClient, owner: Member) -> str:
    made = await client.post("/api/keys", json={"name": "victim's"}, headers=owner.headers)
    return str(made.json()["key"]["id"])


async def a_job(client: httpx2.AsyncClient, owner: Member) -> str:
    body = {"effect": "canary"}
    made = await client.post("/api/ai-jobs", json=body, headers=owner.headers)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def a_webhook(client: httpx2.AsyncClient, owner: Member) -> tuple[str, str]:
    """An endpoint, and a delivery to it."""
    made = await client.post("/api/webhooks", json={"url": "https://example.com/hook"}, headers=owner.headers)
    endpoint_id = made.json()["endpoint"]["id"]
    assert (await client.post(f"/api/webhooks/{endpoint_id}/test", headers=owner.headers)).status_code == 202
    log = await client.get(f"/api/webhooks/{endpoint_id}/deliveries", headers=owner.headers)
    return str(endpoint_id), str(log.json()["deliveries"][0]["id"])


async def a_run(client: httpx2.AsyncClient, house: House, owner: Member, whose: str) -> Ids:
    """Under way, with a candidate. The pipeline is its tenant's: a colleague may see it."""
    steps = [{"name": "Base", "effect": "dream", "properties": {"prompt": "a cat"}}]
    said = {"name": f"Pipeline of {owner.user.id}", "steps": steps}
    applied = await client.post("/api/pipelines", json=said, headers=owner.headers)
    pipeline_id = applied.json()["pipeline"]["id"]
    body = {"pipeline_id": pipeline_id, "target_folder": "shoot", "variants": 2, "top": 1, "concurrency": 2}
    made = await client.post("/api/pipeline-runs", json=body, headers=owner.headers)
    assert made.status_code == 201, made.text
    studio = Studio(house, owner, pipeline=None)  # type: ignore[arg-type]
    await advance_runs.tick(house, owner.tenant.pool, rng=studio.rng)
    run_id = made.json()["id"]
    job = (await client.get(f"/api/pipeline-runs/{run_id}/jobs", headers=owner.headers)).json()["jobs"][0]
    await studio.complete(JobId(UUID(job["job_id"])))
    found = (await client.get(f"/api/pipeline-runs/{run_id}/candidates", headers=owner.headers)).json()["candidates"]
    return {
        "run_id": {f"{whose} run": run_id},
        "candidate_id": {f"{whose} candidate": found[0]["id"]},
        **({"pipeline_id": {f"{whose} pipeline": pipeline_id}} if whose != "a colleague's" else {}),
    }


async def a_parked_settlement(house: House) -> SettlementId:
    async with house.control_tx() as tx:
        (row,) = await tx.all(sa.select(settlements.c.id))
        await park(tx, row.id, error="the pool said no")
    return SettlementId(row.id)


async def the_operators_things(house: House) -> dict[str, dict[str, object]]:
    workflow = await a_workflow(house, "face-swap")
    hidden = await an_effect(house, "not-yet", workflow=workflow.slug, is_published=False)
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
        await fleet.register_worker(tx, NewWorker("gpu-box-1", "127.0.0.1"), fleet=made, rules=FleetRules())
        [alarm] = await audit.raise_alarms(tx, [FoundFault("", "central", 1, "was changed")])
        await audit.acknowledge_alarm(tx, alarm.id, by="op@example.com")  # an open one would stop credits
        to = NewChannel("pager", ChannelKind.WEBHOOK, "https://example.com/hook")
        by = ActingOperator(Actor("operator", "op@example.com"), house.chain)
        channel = await notifications.create_channel(tx, to, rules=house.channel_rules, by=by)
        secret, _ = await fleet.make_fleet_secret(tx, name="x", fleet_id=None, allows_workflows=True)
    queue, place = Queue(house), {"workflow_id": workflow.id, "structure_hash": workflow.structure_hash}
    dispatch_id, over = await queue.add(**place), await queue.add(**place)
    await queue.cancel(over)
    settlement_id = await a_parked_settlement(house)
    return {
        "fleet_id": {"a fleet": made.id},
        "worker_id": {"a worker": "gpu-box-1"},
        "stage": {"a fleet's": made.stage},
        "slug": {"a workflow": workflow.slug},
        "version": {"a version": workflow.version},
        "epoch": {"the first attempt": 1},
        "effect_slug": {"an effect that is not published": hidden.slug},
        "effect_id": {"an effect that is not published": hidden.id},
        "asset_name": {"an asset": "preview"},
        "structure_hash": {"a structure": workflow.structure_hash},
        "secret_id": {"a fleet secret": secret.id},
        "dispatch_id": {"a dispatch": dispatch_id},
        "settlement_id": {"a parked settlement": settlement_id},
        "alarm_id": {"an audit alarm": alarm.id},
        "channel_id": {"a notification channel": channel.id},
    }


async def a_users_things(client: httpx2.AsyncClient, house: House, owner: Member, whose: str) -> Ids:
    """What belongs to one user alone."""
    await credit(house, owner.tenant, owner.user, 100)
    return {
        "key_id": {f"{whose} key": await a_key_id(client, owner)},
        "file_id": {
            f"{whose} file": await a_file(client, owner, stored=True),
            f"{whose} upload": await a_file(client, owner, stored=False),
        },
        "video_id": {f"{whose} video": (await a_video(house, owner, media_type="image/png")).id},
        "job_id": {f"{whose} job": await a_job(client, owner)},
        **await a_run(client, house, owner, whose),
    }


async def a_tenants_things(client: httpx2.AsyncClient, house: House, owner: Member, whose: str) -> Ids:
    endpoint_id, delivery_id = await a_webhook(client, owner)
    return {
        "tenant_id": {f"{whose} tenant": owner.tenant.id},
        "user_id": {f"{whose} user": owner.user.id},
        "endpoint_id": {f"{whose} webhook": endpoint_id},
        "delivery_id": {f"{whose} delivery": delivery_id},
        **await a_users_things(client, house, owner, whose),
    }


async def build_world(client: httpx2.AsyncClient, house: House) -> World:
    admin = await a_member(house)
    member = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    colleague = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    neighbour, stranger = await a_member(house), await a_member(house, tenant=await a_tenant(house, pool=SECOND))
    operator = await a_user(house, None, Role.OPERATOR)
    await an_effect(house, "canary")
    await ordering.an_effect(house, "portrait")
    await ordering.an_effect(house, "dream", takes_input=False)
    hoard = [
        await a_tenants_things(client, house, neighbour, "another tenant's"),
        await a_tenants_things(client, house, stranger, "another pool's"),
        await a_users_things(client, house, colleague, "a colleague's"),
        await the_operators_things(house),
        {"user_id": {"an operator": operator.id}, "tenant_id": {"the attacker's own": admin.tenant.id}},
    ]
    foreign: Ids = {}
    for things in hoard:
        for kind, ids in things.items():
            foreign.setdefault(kind, {}).update(ids)
    return World({"admin": admin.headers, "member": member.headers}, foreign)


async def ask(client: httpx2.AsyncClient, operation: Operation, url: str, headers: dict[str, str]) -> httpx2.Response:
    body = {"parts": []} if operation.path.endswith("/confirm") else operation.example()
    return await client.request(operation.method, url, json=body, headers=headers)


def without(text: str, ids: dict[str, str]) -> str:
    for each in ids.values():
        text = text.replace(each, "ID")
    return text
