"""Fleets, what they may run, and the secrets by which their workers register."""

import re
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.fleet import sql
from comfyfleet.fleet.model import Fleet, FleetSecret
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound, Unauthenticated
from comfyfleet.kernel.ids import FleetId, WorkflowId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.kernel.secret import Secret, new_secret

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


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


async def make_fleet_secret(tx: ControlTx, *, name: str) -> tuple[FleetSecret, Secret]:
    """Several may be valid at once: add the new one, roll the machines, retire the old one."""
    secret = new_secret(prefix="cfs_")
    row = await tx.one(sql.insert_secret(name=name, secret_hash=secret.digest()))
    return FleetSecret.from_row(row), secret


async def retire_fleet_secret(tx: ControlTx, secret_id: UUID) -> FleetSecret:
    """No more registrations by it; workers that are registered keep their own tokens."""
    row = await tx.maybe(sql.retire_secret(secret_id)) or await tx.maybe(sql.secret_by_id(secret_id))
    if row is None:
        raise NotFound("fleet secret", secret_id)
    return FleetSecret.from_row(row)


async def list_fleet_secrets(tx: ControlTx, request: PageRequest) -> Page[FleetSecret]:
    rows = await tx.all(sql.secret_page(after=request.after, rows=request.rows))
    return Page.cut([FleetSecret.from_row(row) for row in rows], [row.id for row in rows], request)


async def require_fleet_secret(tx: ControlTx, presented: Secret) -> None:
    if await tx.maybe(sql.live_secret(presented.digest())) is None:
        raise Unauthenticated("The fleet secret is not valid. Send a current one as X-Fleet-Secret.")
