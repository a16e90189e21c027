"""Fleets, their secrets, and the workflows assigned to them."""

import shlex

import pytest

from comfyfleet import fleet
from comfyfleet.kernel.errors import Unauthenticated
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.secret import Secret
from tests.api.operator.conftest import Depot


async def test_a_fleet_is_made_once_and_listed(depot: Depot) -> None:
    made = await depot.ask("POST", "/fleets", 201, json={"slug": "stills", "stage": "staging"})
    assert (made["slug"], made["stage"], made["name"]) == ("stills", "staging", "stills")
    again = await depot.ask("POST", "/fleets", 409, json={"slug": "stills", "stage": "staging"})
    assert again["error"]["code"] == "already_exists"
    await depot.ask("POST", "/fleets", 422, json={"slug": "No Slug", "stage": "staging"})
    listed = await depot.ask("GET", "/fleets")
    assert [each["slug"] for each in listed["fleets"]] == ["stills", "video"]
    assert await depot.audited() == [("fleet.create", "stills/staging", {})]


async def test_a_fleet_shows_what_it_may_run_and_who_is_there(depot: Depot) -> None:
    await depot.register()
    found = await depot.ask("GET", f"/fleets/{depot.fleet.id}")
    assert found["assignments"] == [
        {
            "workflow": "face-swap",
            "source": "fleet",
            "is_active": True,
            "workflow_is_active": True,
            "routed": True,
            "why_not": [],
        }
    ]
    assert {status: count for status, count in found["workers"].items() if count} == {"approved": 1}
    await depot.ask("GET", f"/fleets/{new_id()}", 404)


async def test_a_workflow_that_is_no_longer_assigned_is_not_given_any_more(depot: Depot) -> None:
    made = await depot.register()
    for _ in range(3):
        await depot.enqueue()
    path = f"/fleets/{depot.fleet.id}/workflows/face-swap"
    assert await depot.lease(made) is not None
    changed = await depot.ask("PUT", path, json={"is_active": False})
    assert changed["assignments"][0]["is_active"] is False
    assert await depot.lease(made) is None
    await depot.ask("PUT", path, json={"is_active": True})
    assert await depot.lease(made) is not None
    assert await depot.audited() == [
        ("fleet.unassign", "video/production", {"workflow": "face-swap"}),
        ("fleet.assign", "video/production", {"workflow": "face-swap"}),
    ]


async def test_an_assignment_of_what_does_not_exist_is_not_found(depot: Depot) -> None:
    body = {"is_active": True}
    await depot.ask("PUT", f"/fleets/{depot.fleet.id}/workflows/nothing", 404, json=body)
    await depot.ask("PUT", f"/fleets/{new_id()}/workflows/face-swap", 404, json=body)
    assert await depot.audited() == []


async def test_the_start_command_names_the_fleet_and_holds_no_secret(depot: Depot) -> None:
    found = await depot.ask("GET", f"/fleets/{depot.fleet.id}/start-command")
    secret, *words = shlex.split(found["command"])
    assert secret == "COMFYFLEET_FLEET_SECRET=<paste a fleet secret>"
    assert shlex.join(words) == "comfyfleet worker --control-plane http://localhost --fleet video --stage production"


async def test_a_retired_secret_no_longer_registers(depot: Depot) -> None:
    opens = {"fleet": "video/production"}
    made = [await depot.ask("POST", "/fleet-secrets", 201, json={"name": name, **opens}) for name in ("old", "new")]
    secrets = [Secret(each["secret"]) for each in made]
    retire = f"/fleet-secrets/{made[0]['fleet_secret']['id']}/retire"
    retired = await depot.ask("POST", retire)
    assert retired == await depot.ask("POST", retire), "asking twice is asking once"
    async with depot.house.control_tx(read_only=True) as tx:
        with pytest.raises(Unauthenticated):
            await fleet.require_fleet_secret(tx, secrets[0])
        await fleet.require_fleet_secret(tx, secrets[1])
    await depot.ask("POST", f"/fleet-secrets/{new_id()}/retire", 404)
    listed = await depot.ask("GET", "/fleet-secrets")
    assert [(each["name"], each["retired_at"] is None) for each in listed["fleet_secrets"]] == [
        ("new", True),
        ("old", False),
    ]


async def test_what_a_secret_opens_is_said_when_it_is_made_and_is_shown(depot: Depot) -> None:
    own = {"name": "own", "fleet": "video/production"}
    for body, opens in ((own, ("video/production", False)), ({"name": "x", "any_fleet": True}, (None, False))):
        made = (await depot.ask("POST", "/fleet-secrets", 201, json=body))["fleet_secret"]
        assert ((made["fleet"], made["allows_workflows"]), made["has_scope"]) == (opens, True)
    free = {"name": "free", "any_fleet": True, "allows_workflows": True}
    assert (await depot.ask("POST", "/fleet-secrets", 201, json=free))["fleet_secret"]["allows_workflows"] is True
    for wrong in ({}, {"fleet": "video/production", "any_fleet": True}, {"fleet": "video"}):
        refused = await depot.ask("POST", "/fleet-secrets", 422, json={"name": "x", **wrong})
        assert refused["error"]["details"]["field"] == "fleet"
    await depot.ask("POST", "/fleet-secrets", 404, json={"name": "x", "fleet": "audio/production"})


async def test_a_worker_that_is_away_can_be_forgotten_and_one_that_calls_cannot(depot: Depot) -> None:
    await depot.register()
    assert (await depot.ask("DELETE", "/workers/i-1", 409))["error"]["code"] == "worker_lives"
    async with depot.house.control_tx() as tx:
        await fleet.deregister_worker(tx, await fleet.get_worker(tx, "i-1"))
    assert (await depot.ask("DELETE", "/workers/i-1"))["status"] == "gone"
    await depot.ask("DELETE", "/workers/i-1", 404)
    assert [name for name, _, _ in await depot.audited()] == ["worker.forget"]


async def test_no_secret_is_listed_or_written_down(depot: Depot) -> None:
    made = await depot.ask("POST", "/fleet-secrets", 201, json={"name": "laptop", "any_fleet": True})
    await depot.register()
    rotated = await depot.ask("POST", "/workers/i-1/rotate-token")
    said = str(await depot.entries()) + str(await depot.ask("GET", "/fleet-secrets"))
    said += str(await depot.ask("GET", "/workers/i-1"))
    for secret in (made["secret"], rotated["token"]):
        assert secret not in said
        assert Secret(secret).digest() not in said
    assert [name for name, _, _ in await depot.audited()] == ["fleet_secret.create", "worker.rotate_token"]


async def test_a_change_is_written_down_with_who_and_from_where(depot: Depot) -> None:
    me = (await depot.client.get("/api/auth/me", headers=depot.headers)).json()
    await depot.ask("POST", "/fleet-secrets", 201, json={"name": "laptop", "any_fleet": True})
    (entry,) = await depot.entries()
    assert (entry.actor_kind, entry.actor, entry.address) == ("operator", me["email"], "127.0.0.1")
