"""`comfyfleet tenants`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one, print_rows
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import print_facts
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import tenants
    from comfyfleet.house import House
    from comfyfleet.tenants import Tenant, lifecycle
    from comfyfleet.tenants.lifecycle import TenantEvent
else:
    lifecycle = Late("comfyfleet.tenants.lifecycle")
    tenants = Late("comfyfleet.tenants")

app = typer.Typer()

COLUMNS = ["id", "slug", "pool", "weight", "status"]
SlugOrId = Annotated[str, typer.Argument(help="Slug or id.")]


@app.command("create")
def create(
    slug: Annotated[str, typer.Argument(help="Short name, such as acme-films.")],
    name: Annotated[str | None, typer.Option(help="Full name. Default: the slug.")] = None,
    pool: Annotated[str | None, typer.Option(help="Tenant pool to place it in. Default: default_pool.")] = None,
    weight: Annotated[int, typer.Option(help="Its share of the fleet beside the others'.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Create a tenant."""

    async def work(house: House) -> Tenant:
        chosen = pool or house.default_pool
        if chosen not in house.pools:
            raise InvalidInput("pool", f"{chosen!r} is none of {sorted(house.pools)}")
        async with house.control_tx() as tx:
            made = await tenants.create_tenant(tx, slug=slug, name=name or slug, pool=chosen, weight=weight)
            await record(house, tx, "tenant.create", made.id, slug=slug, pool=chosen, weight=weight)
            return made

    tenant = in_house(work)
    print_one(tenant, as_json=as_json, sentence=f"Created tenant {tenant.slug} ({tenant.id}) in pool {tenant.pool}.")


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List all tenants, newest first."""

    async def work(house: House) -> list[Tenant]:
        found: list[Tenant] = []
        request = PageRequest(rows=PAGE_ROWS_MAX)
        async with house.control_tx(read_only=True) as tx:
            while True:
                page = await tenants.list_tenants(tx, request)
                found += page.rows
                if page.next_cursor is None:
                    return found
                request = PageRequest.parse(rows=PAGE_ROWS_MAX, cursor=page.next_cursor)

    print_rows("Tenants", in_house(work), COLUMNS, as_json=as_json)


@app.command("show")
def show(tenant: SlugOrId, as_json: AsJson = False) -> None:
    """One tenant."""

    async def work(house: House) -> Tenant:
        async with house.control_tx(read_only=True) as tx:
            return await tenants.find_tenant(tx, tenant)

    found = in_house(work)
    if as_json:
        print_json(plain(found))
    else:
        print_facts(plain(found))


@app.command("suspend")
def suspend(tenant: SlugOrId, as_json: AsJson = False) -> None:
    """Let a tenant read, and no longer create. Its pipeline runs pause."""
    _move(tenant, lifecycle.TenantEvent.SUSPEND, as_json=as_json)


@app.command("resume")
def resume(tenant: SlugOrId, as_json: AsJson = False) -> None:
    """End a suspension. Runs that paused for it are resumed by their users."""
    _move(tenant, lifecycle.TenantEvent.RESUME, as_json=as_json)


@app.command("limit-priority")
def limit_priority(
    tenant: SlugOrId,
    priority_max: Annotated[int | None, typer.Argument(help="0 to 100. Left out: as the settings say.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set the highest priority that a tenant's users may ask for."""

    async def work(house: House) -> Tenant:
        async with house.control_tx() as tx:
            found = await tenants.find_tenant(tx, tenant)
            limited = await tenants.limit_priority(tx, found.id, priority_max)
            await record(house, tx, "tenant.limit_priority", found.id, priority_max=priority_max)
            return limited

    limited = in_house(work)
    limit = "what the settings say" if limited.priority_max is None else limited.priority_max
    print_one(limited, as_json=as_json, sentence=f"Tenant {limited.slug} may ask for priorities up to {limit}.")


@app.command("limit-storage")
def limit_storage(
    tenant: SlugOrId,
    bytes_max: Annotated[int | None, typer.Argument(help="In bytes. Left out: as the settings say.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set how many bytes a tenant's files may have together."""

    async def work(house: House) -> Tenant:
        async with house.control_tx() as tx:
            found = await tenants.find_tenant(tx, tenant)
            limited = await tenants.limit_storage(tx, found.id, bytes_max)
            await record(house, tx, "tenant.limit_storage", found.id, storage_bytes_max=bytes_max)
            return limited

    limited = in_house(work)
    limit = "what the settings say" if limited.storage_bytes_max is None else f"{limited.storage_bytes_max} bytes"
    print_one(limited, as_json=as_json, sentence=f"Files of tenant {limited.slug} may have {limit} together.")


def _move(name: str, event: TenantEvent, *, as_json: bool) -> None:
    async def work(house: House) -> Tenant:
        async with house.control_tx() as tx:
            moved = await tenants.move_tenant(tx, (await tenants.find_tenant(tx, name)).id, event)
            await record(house, tx, f"tenant.{event}", moved.id)
        if event is lifecycle.TenantEvent.SUSPEND:
            await house.pause_runs_of(moved)
        return moved

    tenant = in_house(work)
    print_one(tenant, as_json=as_json, sentence=f"Tenant {tenant.slug} is {tenant.status}.")
