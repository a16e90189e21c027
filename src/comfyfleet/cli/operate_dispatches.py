"""`comfyfleet dispatches list | show | show-graph | show-result | cancel | set-priority | retry`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from comfyfleet.cli.acting import os_user, record
from comfyfleet.cli.choices import DispatchStatusChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import Columns, ago, print_facts, print_table
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import audit, dispatch, fleet, jobs, tenants, workflows
    from comfyfleet.dispatch import Dispatch, DispatchDetail, ListedDispatch
    from comfyfleet.house import House
    from comfyfleet.jobs import Job
    from comfyfleet.upkeep import relay_submissions
else:
    audit = Late("comfyfleet.audit")
    dispatch = Late("comfyfleet.dispatch")
    fleet = Late("comfyfleet.fleet")
    jobs = Late("comfyfleet.jobs")
    relay_submissions = Late("comfyfleet.upkeep.relay_submissions")
    tenants = Late("comfyfleet.tenants")
    workflows = Late("comfyfleet.workflows")

app = typer.Typer()

Id = Annotated[UUID, typer.Argument(metavar="ID", help="Id, as listed; the same as its job's.")]

LISTED: Columns = {
    "id": lambda each: each.id,
    "status": lambda each: each.status,
    "workflow": lambda each: each.workflow,
    "tenant": lambda each: each.tenant,
    "priority": lambda each: each.priority,
    "attempts": lambda each: f"{each.attempts} of {each.max_attempts + each.releases}",
    "worker": lambda each: each.worker,
    "queued": lambda each: ago(each.queued_at),
}
ATTEMPTS: Columns = {
    "epoch": lambda each: each.epoch,
    "worker": lambda each: each.worker,
    "granted": lambda each: ago(each.granted_at),
    "confirmed": lambda each: ago(each.confirmed_at),
    "ended": lambda each: ago(each.ended_at),
    "reason": lambda each: " · ".join(filter(None, [each.reason, each.service_reason])),
    "prompt": lambda each: each.provider_job_id,
}


@app.command("list")
def list_all(
    status: Annotated[DispatchStatusChoice | None, typer.Option(help="Only in this state.")] = None,
    workflow: Annotated[str | None, typer.Option(help="Only of this workflow.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant, by slug or id.")] = None,
    worker: Annotated[str | None, typer.Option(help="Only with this worker.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=PAGE_ROWS_MAX, help="How many.")] = PAGE_ROWS_MAX,
    as_json: AsJson = False,
) -> None:
    """List the newest dispatches."""

    async def work(house: House) -> list[ListedDispatch]:
        async with house.control_tx(read_only=True) as tx:
            wanted = dispatch.DispatchFilter(
                status=dispatch.DispatchStatus(status) if status else None,
                workflow_id=(await workflows.find_workflow(tx, workflow)).id if workflow else None,
                tenant_id=(await tenants.find_tenant(tx, tenant)).id if tenant else None,
                worker_id=(await fleet.get_worker(tx, worker)).id if worker else None,
            )
            return (await dispatch.list_dispatches(tx, PageRequest(rows=limit), wanted)).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
    else:
        print_table("Dispatches", found, LISTED)


@app.command("show")
def show(dispatch_id: Id, as_json: AsJson = False) -> None:
    """One dispatch with every attempt at it."""

    async def work(house: House) -> tuple[DispatchDetail, str | None]:
        async with house.control_tx(read_only=True) as tx:
            found = await dispatch.get_dispatch(tx, DispatchId(dispatch_id))
        return found, house.traces.url_of(found.dispatch.trace_id)

    found, trace_url = in_house(work)
    if as_json:
        print_json({**plain(found), "trace_url": trace_url})
    else:
        _print(found, trace_url)


@app.command("show-graph")
def show_graph(dispatch_id: Id) -> None:
    """Print the graph it runs or ran, as JSON that ComfyUI can open: every value in its place, files left open."""

    async def work(house: House) -> dict[str, Any]:
        async with house.control_tx(read_only=True) as tx:
            found = await dispatch.require_dispatch(tx, DispatchId(dispatch_id))
        async with house.pool(found.pool).tenant_tx(found.tenant_id, read_only=True) as tenant:
            return await jobs.read_payload(tenant, JobId(dispatch_id))

    print_json(in_house(work)["workflow"])


@app.command("show-result")
def show_result(
    dispatch_id: Id,
    epoch: Annotated[int | None, typer.Option(min=0, help="Of this attempt; else of the last that has one.")] = None,
) -> None:
    """Print what the server itself said of an attempt's end, as JSON: ComfyUI's history entry, or its refusal."""

    async def work(house: House) -> dict[str, Any]:
        async with house.control_tx(read_only=True) as tx:
            return await dispatch.read_result(tx, DispatchId(dispatch_id), epoch)

    print_json(in_house(work))


@app.command("cancel")
def cancel(dispatch_id: Id, as_json: AsJson = False) -> None:
    """Waiting: cancelled at once. With a worker: the worker is told, and may finish first."""

    async def work(house: House) -> Dispatch:
        async with house.control_tx() as tx:
            found = await dispatch.cancel_dispatch(tx, DispatchId(dispatch_id))
            await record(house, tx, "dispatch.cancel", dispatch_id, status=found.status)
        if found.worker_id is not None:
            house.desk.holder_changed(found.worker_id)
        return found

    found = in_house(work)
    told = found.status is dispatch.DispatchStatus.LEASED
    sentence = (
        "Its worker is told, with its next heartbeat at the latest."
        if told
        else f"Dispatch {found.id} is {found.status}."
    )
    print_one(found, as_json=as_json, sentence=sentence)


@app.command("set-priority")
def set_priority(
    dispatch_id: Id,
    value: Annotated[int, typer.Argument(metavar="PRIORITY", help="From -100 to 100; higher goes first.")],
    as_json: AsJson = False,
) -> None:
    """Give a waiting dispatch another priority. A negative one needs `--` before the id."""

    async def work(house: House) -> Dispatch:
        async with house.control_tx() as tx:
            found = await dispatch.set_priority(tx, DispatchId(dispatch_id), value)
            await record(house, tx, "dispatch.set_priority", dispatch_id, priority=value)
            return found

    found = in_house(work)
    print_one(found, as_json=as_json, sentence=f"Dispatch {found.id} has priority {found.priority}.")


@app.command("retry")
def retry(dispatch_id: Id, as_json: AsJson = False) -> None:
    """Try one that has ended again: a new job of the same user, newly reserved."""

    async def work(house: House) -> Job:
        async with house.control_tx(read_only=True) as tx:
            found = await dispatch.require_dispatch(tx, DispatchId(dispatch_id))
        async with house.pool(found.pool).tenant_tx(found.tenant_id) as tenant:
            job = await jobs.retry_job(tenant, JobId(dispatch_id))
            action = audit.Action("dispatch.retry", str(dispatch_id), {"job_id": job.id})
            await audit.record_tenant_action(tenant, os_user(), action, signer=house.chain)
        await relay_submissions.tick(house, found.pool)
        return job

    job = in_house(work)
    print_one(job, as_json=as_json, sentence=f"Job {job.id} tries {dispatch_id} again.")


def _print(found: DispatchDetail, trace_url: str | None) -> None:
    row = found.dispatch
    facts: dict[str, object] = {
        "id": row.id,
        "status": row.status,
        "workflow": row.workflow,
        "structure": row.structure_hash,
        "tenant": row.tenant or row.tenant_id,
        "provider": row.provider,
        "priority": row.priority,
        "attempts": f"{row.attempts} of {row.max_attempts + row.releases}",
        "queued": ago(row.queued_at),
    }
    sometimes = {
        "waits because": found.waits_because,
        "worker": row.worker,
        "prompt": row.provider_job_id,
        "server says": row.service_status,
        "submitted": ago(row.service_submitted_at),
        "last checked": ago(row.last_service_check),
        "lease expires": ago(row.lease_expires_at),
        "must end": ago(row.deadline_at),
        "tried again": ago(row.run_at),
        "cancel asked for": ago(row.cancel_requested_at),
        "finished": ago(row.finished_at),
        "settled": ago(row.settled_at),
        "failure": row.error_class,
        "error": row.last_error,
        "trace": trace_url or row.trace_id,
    }
    print_facts(facts | {name: value for name, value in sometimes.items() if value is not None})
    print_table("\nAttempts", found.attempts, ATTEMPTS)
