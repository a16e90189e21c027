"""Fleet secrets: what a machine shows to register a worker. Several may be valid while one replaces another."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from comfyfleet import audit, fleet
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.operator.policies import SEE, Acting, Pages
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action

router = APIRouter(prefix="/fleet-secrets")


class FleetSecretView(View):
    """`fleet`: the one that it opens, as slug/stage; none: any. `allows_workflows`: a worker may name workflows of its
    own. `has_scope` is false for one made before secrets had a scope: it opens every fleet and every workflow."""

    id: UUID
    name: str
    fleet: str | None
    allows_workflows: bool
    has_scope: bool
    retired_at: datetime | None
    created_at: datetime


class FleetSecretPage(View):
    fleet_secrets: list[FleetSecretView]
    next_cursor: str | None


class NewFleetSecretBody(Body):
    """`fleet` as slug/stage, or `any_fleet`: one of the two. `allows_workflows`: its workers may name `workflow_slugs`
    of their own when they register."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    fleet: Annotated[str | None, Field(max_length=200, examples=["video/production"])] = None
    any_fleet: bool = False
    allows_workflows: bool = False


class NewFleetSecretView(View):
    """`secret` is shown this once; only its hash is kept."""

    fleet_secret: FleetSecretView
    secret: str


@router.get("", dependencies=SEE)
async def get_fleet_secrets(house: TheHouse, page: Pages) -> FleetSecretPage:
    """All fleet secrets, newest first, by name only."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.list_fleet_secrets(tx, page)
    rows = [FleetSecretView.model_validate(each) for each in found.rows]
    return FleetSecretPage(fleet_secrets=rows, next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def create_fleet_secret(body: NewFleetSecretBody, house: TheHouse, actor: Acting) -> NewFleetSecretView:
    """To rotate: create a new one, roll the machines, retire the old one."""
    async with house.control_tx() as tx:
        made, secret = await fleet.make_fleet_secret(
            tx,
            name=body.name,
            fleet_id=await fleet.secret_scope(tx, fleet=body.fleet, any_fleet=body.any_fleet),
            allows_workflows=body.allows_workflows,
        )
        facts = {"named": made.name, "fleet": made.fleet or "any", "allows_workflows": made.allows_workflows}
        action = Action("fleet_secret.create", str(made.id), facts)
        await audit.record_action(tx, actor, action, signer=house.chain)
    return NewFleetSecretView(fleet_secret=FleetSecretView.model_validate(made), secret=secret.reveal())


@router.post("/{secret_id}/retire")
async def retire_fleet_secret(secret_id: UUID, house: TheHouse, actor: Acting) -> FleetSecretView:
    """No more registrations by it; workers that are registered keep their own tokens."""
    async with house.control_tx() as tx:
        retired = await fleet.retire_fleet_secret(tx, secret_id)
        action = Action("fleet_secret.retire", str(secret_id), {"named": retired.name})
        await audit.record_action(tx, actor, action, signer=house.chain)
    return FleetSecretView.model_validate(retired)
