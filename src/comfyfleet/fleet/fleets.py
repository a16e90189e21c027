"""Fleets, what they may run, and the secrets by which their workers register."""

import re
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.fleet import sql
from comfyfleet.fleet.model import Fleet, FleetSecret
from comfyfleet.kernel.errors import AlreadyExists, FleetSecretScope, InvalidInput, NotFound, Unauthenticated
from comfyfleet.kernel.ids import FleetId, WorkflowId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.kernel.secret import Secret, new_secret

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

WITHOUT_SCOPE = "it opens every fleet and every workflow; make one for the fleet, give it to the machines, retire this"


async def create_fleet(tx: ControlTx, *, slug: str, stage: str, name: str, scales_from_zero: bool = False) -> Fleet:
    for field, value in (("slug", slug), ("stage", stage)):
        if not NAME.fullmatch(value):
            raise InvalidInput(field, "use 1 to 63 lower-case letters, digits and inner hyphens")
    row = await tx.maybe(sql.insert_fleet(slug=slug, stage=stage, name=name, scales_from_zero=scales_from_zero))
    if row is None:
        raise AlreadyExists("fleet", f"{slug}/{stage}")
    return Fleet.from_row(row)


async def find_fleet(tx: ControlTx, slug: str, stage: str) -> Fleet:
    row = await tx.maybe(sql.fleet_by_name(slug, stage))
    if row is None:
        raise NotFound("fleet", f"{slug}/{stage}")
    return Fleet.from_row(row)


async def find_fleet_named(tx: ControlTx, name: str) -> Fleet:
    """By slug and stage, such as video/production."""
    slug, slash, stage = name.partition("/")
    if not slash:
        raise InvalidInput("fleet", f"name it by slug and stage, such as {slug or 'video'}/production")
    return await find_fleet(tx, slug, stage)


async def get_fleet(tx: ControlTx, fleet_id: FleetId) -> Fleet:
    row = await tx.maybe(sql.fleet_by_id(fleet_id))
    if row is None:
        raise NotFound("fleet", fleet_id)
    return Fleet.from_row(row)


async def set_scaling(tx: ControlTx, fleet_id: FleetId, *, scales_from_zero: bool) -> Fleet:
    """Whether its effects are sold while it has no worker, by what its last machines had."""
    row = await tx.maybe(sql.set_scaling(fleet_id, scales_from_zero=scales_from_zero))
    if row is None:
        raise NotFound("fleet", fleet_id)
    return Fleet.from_row(row)


async def list_fleets(tx: ControlTx, request: PageRequest) -> Page[Fleet]:
    rows = await tx.all(sql.fleet_page(after=request.after, rows=request.rows))
    return Page.cut([Fleet.from_row(row) for row in rows], [row.id for row in rows], request)


async def assign_workflow(tx: ControlTx, fleet_id: FleetId, workflow_id: WorkflowId, *, is_active: bool = True) -> None:
    """From the next poll on, every worker of the fleet may, or may no longer, run it."""
    await tx.one(sql.assign(fleet_id, workflow_id, is_active=is_active))


async def make_fleet_secret(
    tx: ControlTx, *, name: str, fleet_id: FleetId | None, allows_workflows: bool = False
) -> tuple[FleetSecret, Secret]:
    """Opens one fleet, or any (`fleet_id=None`). Several may be valid at once: add one, roll the machines, retire one.

    `allows_workflows`: its workers may also name workflows of their own when they register.
    """
    secret = new_secret(prefix="cfs_")
    await tx.run(
        sql.insert_secret(name=name, secret_hash=secret.digest(), fleet_id=fleet_id, allows_workflows=allows_workflows)
    )
    return FleetSecret.from_row(await tx.one(sql.secret_by_hash(secret.digest()))), secret


async def secret_scope(tx: ControlTx, *, fleet: str | None, any_fleet: bool) -> FleetId | None:
    """The id of the fleet that a new secret is to open; None: any, and only where that was said."""
    if any_fleet == (fleet is not None):
        raise InvalidInput("fleet", "name the fleet that the secret opens, as slug/stage, or choose any fleet")
    return (await find_fleet_named(tx, fleet)).id if fleet is not None else None


async def retire_fleet_secret(tx: ControlTx, secret_id: UUID) -> FleetSecret:
    """No more registrations by it; workers that are registered keep their own tokens."""
    await tx.run(sql.retire_secret(secret_id))
    row = await tx.maybe(sql.secret_by_id(secret_id))
    if row is None:
        raise NotFound("fleet secret", secret_id)
    return FleetSecret.from_row(row)


async def list_fleet_secrets(tx: ControlTx, request: PageRequest) -> Page[FleetSecret]:
    rows = await tx.all(sql.secret_page(after=request.after, rows=request.rows))
    return Page.cut([FleetSecret.from_row(row) for row in rows], [row.id for row in rows], request)


async def secrets_without_scope(tx: ControlTx) -> list[FleetSecret]:
    """Live ones that were made before secrets had a scope: they open every fleet and every workflow."""
    return [FleetSecret.from_row(row) for row in await tx.all(sql.secrets_without_scope())]


async def require_fleet_secret(tx: ControlTx, presented: Secret) -> FleetSecret:
    row = await tx.maybe(sql.live_secret(presented.digest()))
    if row is None:
        raise Unauthenticated("The fleet secret is not valid. Send a current one as X-Fleet-Secret.")
    return FleetSecret.from_row(row)


def require_scope(secret: FleetSecret, *, fleet: Fleet | None, names_workflows: bool) -> None:
    """Raises FleetSecretScope where the secret does not open what the worker registers for."""
    wanted = f"{fleet.slug}/{fleet.stage}" if fleet is not None else None
    if secret.fleet_id is not None and (fleet is None or fleet.id != secret.fleet_id):
        rest = f"not of {wanted}" if wanted else "not workers without a fleet"
        raise FleetSecretScope(f"registers workers of fleet {secret.fleet} only, {rest}")
    if names_workflows and not secret.allows_workflows:
        raise FleetSecretScope("does not let workers name workflow_slugs of their own")
