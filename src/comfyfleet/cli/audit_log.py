"""`comfyfleet audit-log`"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from comfyfleet.cli.acting import os_user, record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, console, print_json, print_one, print_rows
from comfyfleet.cli.running import in_house
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import audit, checks, tenants
    from comfyfleet.audit import Alarm, Entry
    from comfyfleet.checks import ChainReport, ChainsReport
    from comfyfleet.house import House
else:
    audit = Late("comfyfleet.audit")
    checks = Late("comfyfleet.checks")
    tenants = Late("comfyfleet.tenants")

app = typer.Typer()

LISTED = ["seq", "at", "actor", "action", "subject", "detail"]
VERIFIED = ["chain", "rows", "head", "checkpoint", "result"]
WHOLE_SHOWN_MAX = 20
ALARMS = ["id", "pool", "chain", "seq", "problem", "found_at"]
BROKEN, UNCHECKED = 1, 6


@dataclass(frozen=True)
class ActionLine:
    seq: int
    at: datetime
    actor: str
    address: str | None
    action: str
    subject: str | None
    detail: str


@dataclass(frozen=True)
class ChainLine:
    database: str
    chain: str
    rows: int
    head: int | None
    checkpoint: int | None
    result: str
    first_bad_row: int | None


@app.command("list")
def list_newest(
    tenant: Annotated[str | None, typer.Option(help="Slug or id: this tenant's own chain, its credits.")] = None,
    as_json: AsJson = False,
) -> None:
    """The newest hundred actions."""

    async def work(house: House) -> list[Entry]:
        newest = PageRequest(rows=PAGE_ROWS_MAX)
        async with house.control_tx(read_only=True) as tx:
            if tenant is None:
                return (await audit.list_actions(tx, newest)).rows
            found = await tenants.find_tenant(tx, tenant)
        async with house.tenant_tx(found, read_only=True) as tenant_tx:
            return (await audit.list_tenant_actions(tenant_tx, newest)).rows

    print_rows("Audit log", [_action_line(entry) for entry in in_house(work)], LISTED, as_json=as_json)


@app.command("verify")
def verify(as_json: AsJson = False) -> None:
    """Check every chain: its macs, its numbers, its head, and the newest checkpoint in the object store."""
    report = in_house(checks.verify_chains)
    if as_json:
        _print_json(report)
    else:
        _print_table(report)
    if report.broken or report.damaged_checkpoints:
        raise typer.Exit(BROKEN)
    if report.unreachable:
        raise typer.Exit(UNCHECKED)


@app.command("list-alarms")
def alarms(as_json: AsJson = False) -> None:
    """Chains that do not hold, and that nobody has acknowledged: while there are any, credits are stopped."""

    async def work(house: House) -> list[Alarm]:
        async with house.control_tx(read_only=True) as tx:
            return await audit.open_alarms(tx)

    print_rows("Audit alarms", in_house(work), ALARMS, as_json=as_json)


@app.command("acknowledge")
def acknowledge(
    alarm_id: Annotated[UUID, typer.Argument(metavar="ID", help="Id, as listed by `list-alarms`.")],
    as_json: AsJson = False,
) -> None:
    """Say that an alarm was looked at: credits go on, and the chain is watched from where it stands."""

    async def work(house: House) -> Alarm:
        async with house.control_tx() as tx:
            alarm = await audit.acknowledge_alarm(tx, alarm_id, by=os_user().name)
            facts = {"pool": alarm.pool, "chain": alarm.chain, "seq": alarm.seq, "problem": alarm.problem}
            await record(house, tx, "audit_alarm.acknowledge", alarm_id, **facts)
            return alarm

    alarm = in_house(work)
    print_one(alarm, as_json=as_json, sentence=f"The alarm of chain {alarm.chain} is acknowledged.")


def _print_json(report: ChainsReport) -> None:
    print_json(
        {
            "chains": [vars(_chain_line(each)) for each in report.chains],
            "unreachable": report.unreachable,
            "damaged_checkpoints": report.damaged_checkpoints,
        }
    )


def _print_table(report: ChainsReport) -> None:
    """All that are broken; of the others as many as a person reads."""
    whole = [each for each in report.chains if each.fault is None]
    shown = [*report.broken, *whole[:WHOLE_SHOWN_MAX]]
    print_rows("Audit chains", [_chain_line(each) for each in shown], VERIFIED, as_json=False)
    if len(whole) > WHOLE_SHOWN_MAX:
        console.print(f"[dim]and {len(whole) - WHOLE_SHOWN_MAX} more that hold[/]")
    for name in report.unreachable:
        console.print(f"[yellow]{name} does not answer: its chains were not checked[/]")
    for key in report.damaged_checkpoints:
        console.print(f"[bold red]checkpoint {key} is not signed with this server's key[/]")
    for each in report.broken:
        console.print(f"[bold red]{each.chain}: {_result(each)}[/]")


def _action_line(entry: Entry) -> ActionLine:
    actor = f"{entry.actor.kind} {entry.actor.name}"
    return ActionLine(entry.seq, entry.at, actor, entry.actor.address, entry.action, entry.subject, entry.detail)


def _chain_line(report: ChainReport) -> ChainLine:
    return ChainLine(
        database=report.database,
        chain=report.chain,
        rows=report.rows,
        head=report.head,
        checkpoint=report.checkpoint,
        result=_result(report),
        first_bad_row=report.fault.seq if report.fault else None,
    )


def _result(report: ChainReport) -> str:
    return f"row {report.fault.seq} {report.fault.problem}" if report.fault else "ok"
