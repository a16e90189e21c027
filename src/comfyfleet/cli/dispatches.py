"""`comfyfleet dispatches`"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from comfyfleet.cli import operate_dispatches
from comfyfleet.cli.choices import ProviderChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.kernel.errors import InvalidInput, Unavailable
from comfyfleet.kernel.ids import JobId, new_id
from comfyfleet.kernel.page import PageRequest

if TYPE_CHECKING:
    from comfyfleet import dispatch, fleet, jobs, ledger, tenants, workflows
    from comfyfleet.house import House
    from comfyfleet.jobs import NewJob
    from comfyfleet.tenants import Tenant, User
    from comfyfleet.upkeep import relay_submissions
    from comfyfleet.workflows import Version, Workflow
else:
    dispatch = Late("comfyfleet.dispatch")
    fleet = Late("comfyfleet.fleet")
    jobs = Late("comfyfleet.jobs")
    ledger = Late("comfyfleet.ledger")
    relay_submissions = Late("comfyfleet.upkeep.relay_submissions")
    tenants = Late("comfyfleet.tenants")
    workflows = Late("comfyfleet.workflows")

app = typer.Typer()
app.add_typer(operate_dispatches.app)

BATCH = 500
COUNT_MAX = 1_000_000
# From here on a person wants to see that it goes on.
SHOW_PROGRESS_FROM = 1_000


@dataclass(frozen=True)
class Created:
    count: int
    queued: int  # fewer than count: the rest is in the outbox, and upkeep will send it
    tenant: str
    workflow: str
    first_id: JobId
    last_id: JobId
    waits_because: str | None = None  # no worker can take them now


@app.command("create")
def create(
    tenant: Annotated[str, typer.Option(help="Slug or id of the tenant.")],
    workflow: Annotated[str, typer.Option(help="Slug of the workflow.")],
    count: Annotated[int, typer.Option(min=1, max=COUNT_MAX, help="How many jobs.")] = 1,
    user: Annotated[str | None, typer.Option(help="Email of their user. Default: the tenant's newest.")] = None,
    cost: Annotated[int, typer.Option(min=0, help="Tokens that each reserves.")] = 0,
    expected_s: Annotated[float, typer.Option(min=0.001, help="Expected seconds on a GPU, for fair share.")] = 1.0,
    priority: Annotated[int, typer.Option(min=-100, max=100, help="Higher goes first.")] = 0,
    provider: Annotated[ProviderChoice, typer.Option(help="Where it may run.")] = "self_hosted",
    as_json: AsJson = False,
) -> None:
    """Create jobs of a workflow and queue them: for tests, and to see what a fleet can do."""

    async def work(house: House) -> Created:
        home, owner, chosen, payload = await _look_up(house, tenant, user, workflow)
        wanted = jobs.NewJob(
            id=JobId(new_id()),
            user_id=owner.id,
            workflow_id=chosen.id,
            structure_hash=chosen.structure_hash,
            provider=dispatch.Provider(provider),
            payload=payload,
            priority=priority,
            reserved_tokens=ledger.Tokens(cost),
            expected_s=expected_s,
            run_deadline_s=chosen.run_deadline_s,
        )
        made = await create_many(house, home, chosen, wanted, count=count, quiet=as_json)
        return replace(made, waits_because=await _waits_because(house, chosen))

    made = in_house(work)
    print_one(made, as_json=as_json, sentence=_sentence(made))


def _sentence(made: Created) -> str:
    what = f"job {made.first_id}" if made.count == 1 else f"{made.count} jobs"
    waits = "" if made.queued == made.count else f" Still to be sent: {made.count - made.queued}."
    absent = "" if made.waits_because is None else f" No worker can run it now: {made.waits_because}."
    return f"Created {what} of {made.workflow} for {made.tenant}.{waits}{absent}"


async def _waits_because(house: House, workflow: Workflow) -> str | None:
    """Said and not refused: whoever tests a fleet may queue first and start workers afterwards."""
    async with house.control_tx(read_only=True) as tx:
        found = (await fleet.read_availability(tx, [workflow.id], rules=house.fleet_rules))[workflow.id]
    return found.detail or found.waits or found.problem


async def create_many(
    house: House, tenant: Tenant, workflow: Workflow, like: NewJob, *, count: int, quiet: bool
) -> Created:
    """A batch is one transaction: what was told as created stays, also when a later batch finds the wallet empty."""
    ids: list[JobId] = []
    queued = 0
    with Progress(console=Console(stderr=True), disable=quiet or count < SHOW_PROGRESS_FROM, transient=True) as shown:
        bar = shown.add_task("jobs", total=count)
        for batch in _batches(like, count):
            async with house.tenant_tx(tenant) as tx:
                ids += [job.id for job in await jobs.create_jobs(tx, batch)]
            queued += await _relay(house, tenant.pool, len(batch))
            shown.advance(bar, len(batch))
    return Created(count, min(queued, count), tenant.slug, workflow.slug, ids[0], ids[-1])


def _batches(like: NewJob, count: int) -> Iterator[list[NewJob]]:
    for start in range(0, count, BATCH):
        yield [replace(like, id=JobId(new_id())) for _ in range(min(BATCH, count - start))]


async def _relay(house: House, pool: str, wanted: int) -> int:
    """At once, as far as it goes; what is left upkeep sends."""
    sent = 0
    try:
        while sent < wanted and (done := await relay_submissions.tick(house, pool)):
            sent += done
    except Unavailable:
        return sent
    return sent


async def _look_up(
    house: House, tenant: str, email: str | None, workflow: str
) -> tuple[Tenant, User, Workflow, dict[str, Any]]:
    async with house.control_tx(read_only=True) as tx:
        home = await tenants.find_tenant(tx, tenant)
        chosen = await workflows.find_workflow(tx, workflow)
        version = await workflows.find_version(tx, chosen.id, chosen.version)
        if email is None:
            page = await tenants.list_users(tx, home.id, PageRequest(rows=1))
            found = page.rows[0] if page.rows else None
        else:
            found = await tenants.find_user(tx, email)
        if found is None or found.tenant_id != home.id:
            raise InvalidInput("user", f"tenant {home.slug} has no such user; make one with `comfyfleet users create`")
    return home, found, chosen, _as_it_stands(version, await workflows.read_graph(house.store, version))


def _as_it_stands(version: Version, graph: Mapping[str, Any]) -> dict[str, Any]:
    """The graph with the values it holds; only placeholders are filled, from their defaults."""
    filled = replace(version, properties=tuple(each for each in version.properties if each.placeholder is not None))
    chosen = workflows.choose(filled.properties, {}, {}, fixed=(), random_seed=secrets.randbits(53))
    return workflows.build_payload(filled, graph, chosen, files={}, effect_assets={}).as_json()
