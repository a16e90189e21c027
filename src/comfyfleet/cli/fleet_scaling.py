"""`comfyfleet fleets scale`, `show-scaling`, `resume-launches`: how many machines a fleet has, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, print_json
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import ago, print_facts, print_table
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from comfyfleet import fleet, machines, scaling
    from comfyfleet.house import House
    from comfyfleet.machines import DecisionRow, FleetScaling, ScalingReport, written
    from comfyfleet.scaling import ScalingSettings
else:
    fleet = Late("comfyfleet.fleet")
    machines = Late("comfyfleet.machines")
    scaling = Late("comfyfleet.scaling")
    written = Late("comfyfleet.machines.written")

Name = Annotated[str, typer.Argument(metavar="FLEET", help="Slug and stage, such as video/production.")]
EagernessChoice = Literal["calm", "normal", "eager"]
HISTORY_S = 6 * 3600.0


def scale(
    name: Name,
    least: Annotated[int | None, typer.Option("--min", help="Workers that always run.")] = None,
    most: Annotated[
        int | None, typer.Option("--max", help="Workers and machines it may have, instead of MAX_FLEET_WORKERS.")
    ] = None,
    buffer: Annotated[int | None, typer.Option(help="Workers to keep beyond what the load needs.")] = None,
    target_wait: Annotated[float | None, typer.Option(help="Seconds that a job may wait.")] = None,
    eagerness: Annotated[
        EagernessChoice | None, typer.Option(help="How much to keep in reserve for fluctuations.")
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            help="A class of machines: NAME,spot=PRICE,on_demand=PRICE,memory=GB,speed=X,zones=a+b. May be repeated; "
            "replaces those that were set.",
        ),
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Dollars an hour that its machines may cost; 0 or more.")] = None,
    no_budget: Annotated[bool, typer.Option("--no-budget", help="Remove the budget.")] = False,
    down_delay: Annotated[
        float | None, typer.Option(help="Seconds that a surplus lasts before it is drained. Default: a start-up time.")
    ] = None,
    load_window: Annotated[
        float | None,
        typer.Option(
            help="Seconds over which arriving work is averaged; without --min one machine stays until nothing arrived "
            "for so long. Default: 900."
        ),
    ] = None,
    first_start: Annotated[
        float | None, typer.Option(help="Seconds that a start is assumed to take until five were seen. Default: 180.")
    ] = None,
    adapter: Annotated[str | None, typer.Option(help="Who provides its machines: aws, command or local.")] = None,
    adapter_settings: Annotated[
        str | None, typer.Option("--adapter-settings", help="Its configuration: JSON, or @FILE that holds it.")
    ] = None,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not ask the provider whether the adapter's settings are right.")
    ] = False,
    off: Annotated[bool, typer.Option("--off", help="It scales no longer; first set --min 0 --max 0.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a fleet scale with its queue, or change how. What is not given stays as it is."""
    given = {
        "min_workers": least,
        "max_workers": most,
        "buffer": buffer,
        "target_wait_s": target_wait,
        "budget_per_hour": budget,
        "down_delay_s": down_delay,
        "load_window_s": load_window,
        "first_start_s": first_start,
    }
    config = _read_config(adapter_settings)

    async def work(house: House) -> FleetScaling | None:
        if off:
            async with house.control_tx() as tx:
                await machines.stop_fleet_scaling(tx, await fleet.find_fleet_named(tx, name))
                await record(house, tx, "fleet.scale", name, off=True)
            return None
        changes: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
        if no_budget:
            changes["budget_per_hour"] = None
        if eagerness is not None:
            changes["eagerness"] = scaling.Eagerness(eagerness)
        if classes:
            changes["classes"] = tuple(written.read_class(each) for each in classes)
        if (adapter or config is not None or classes) and not no_check:
            # Numbers alone are changed without asking: an operator must be able to stop a fleet while AWS is away.
            async with house.control_tx(read_only=True) as tx:
                found = await fleet.find_fleet_named(tx, name)
                before = await machines.find_fleet_scaling(tx, found.id)
            await machines.inspect_adapter(*_wanted(before, changes, adapter, config))
        async with house.control_tx() as tx:
            found = await fleet.find_fleet_named(tx, name)
            before = await machines.find_fleet_scaling(tx, found.id)
            chosen, provider, settings = _wanted(before, changes, adapter, config)
            made = await machines.set_fleet_scaling(tx, found, settings, adapter=chosen, adapter_settings=provider)
            facts = {field: str(value) for field, value in changes.items()}
            await record(house, tx, "fleet.scale", name, adapter=chosen, **facts)
        house.desk.assignments_changed()
        return made

    made = in_house(work)
    if as_json:
        print_json(_settings(made) if made is not None else {"fleet": name, "scales": False})
    elif made is None:
        typer.echo(f"Fleet {name} scales no longer.")
    else:
        least, most = made.settings.min_workers, made.settings.max_workers
        typer.echo(f"Fleet {name} scales from {least} to {most} workers ({made.adapter}).")
        typer.echo(f"See what it does: comfyfleet fleets show-scaling {name}")


def show_scaling(
    name: Name,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="What it would do now; nothing is changed.")] = False,
    as_json: AsJson = False,
) -> None:
    """How many workers are wanted, ready, starting and draining, and why."""

    async def work(house: House) -> tuple[ScalingReport, list[DecisionRow]]:
        async with house.control_tx(read_only=True) as tx:
            found = await fleet.find_fleet_named(tx, name)
            report = await machines.show_scaling(tx, found)
            steps = await machines.list_decisions(tx, found.id, since_s=HISTORY_S)
        return (await _preview(house, report.scaling) if dry_run else report), steps

    report, steps = in_house(work)
    if as_json:
        print_json({**_report(report), "settings": _settings(report.scaling), "dry_run": dry_run})
        return
    print_facts(
        {
            "fleet": report.fleet,
            "would do now" if dry_run else "decided": report.text,
            "desired": report.desired,
            "ready": f"{report.ready} ({report.busy} busy)",
            "starting": report.starting,
            "draining": report.draining,
            "queued": f"{report.queued} jobs, {report.backlog_seconds:.0f} GPU seconds",
            "expected wait": _time(report.expected_wait_seconds),
            "spend": None if report.spend_per_hour is None else f"${report.spend_per_hour:.2f} an hour",
            "limits": f"{report.scaling.settings.min_workers} to {report.scaling.settings.max_workers} workers",
            "machines by": report.scaling.adapter,
            "at": ago(report.at) or "not yet",
        }
    )
    columns = {
        "when": lambda each: ago(each.decided_at),
        "desired": lambda each: each.desired,
        "ready": lambda each: each.ready,
        "starting": lambda each: each.starting,
        "draining": lambda each: each.draining,
        "queued": lambda each: each.waiting,
        "why": lambda each: each.text,
    }
    print_table("\nChanges of the last 6 hours", steps[:20], columns)


def resume_launches(name: Name, as_json: AsJson = False) -> None:
    """Launch again at once, after what kept machines from registering, or from being launched, was mended."""

    async def work(house: House) -> FleetScaling:
        async with house.control_tx() as tx:
            found = await fleet.find_fleet_named(tx, name)
            made = await machines.resume_fleet_launches(tx, found)
            await record(house, tx, "fleet.resume_launches", name)
            return made

    made = in_house(work)
    if as_json:
        print_json(_settings(made))
    else:
        typer.echo(f"Fleet {name} launches machines again.")


async def _preview(house: House, found: FleetScaling) -> ScalingReport:
    adapter = machines.build_adapter(found.fleet, found.adapter, found.adapter_settings)
    listed, problem = None, None
    try:
        listed = await machines.list_machines(adapter, found.adapter)
    except machines.AdapterProblem as failed:
        problem = failed.message
    async with house.control_tx(read_only=True) as tx:
        seen = await machines.look(tx, found, listed)
        refused = await machines.last_refusal(tx, found.fleet_id)
    decision, _ = machines.choose(found, seen, unlisted=problem, refused=refused)
    return machines.make_report(found, seen.at, decision, seen.inputs)


def _wanted(
    before: FleetScaling | None, changes: dict[str, Any], adapter: str | None, config: dict[str, Any] | None
) -> tuple[str, Mapping[str, Any], ScalingSettings]:
    """The adapter, its settings, and those of the fleet; what is not given stays."""
    chosen = adapter or (before.adapter if before is not None else None)
    if chosen is None:
        raise InvalidInput("adapter", "is needed for a fleet that does not scale yet; give --adapter")
    kept = before.adapter_settings if before is not None and before.adapter == chosen else {}
    settings = _changed(before.settings if before is not None else None, dict(changes))
    return chosen, kept if config is None else config, settings


def _changed(before: ScalingSettings | None, changes: dict[str, Any]) -> ScalingSettings:
    if before is not None:
        return replace(before, **changes)
    if "classes" not in changes:
        changes["classes"] = (scaling.MachineClass("default"),)
    return scaling.ScalingSettings(**changes)


def _read_config(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        said = Path(text[1:]).read_text() if text.startswith("@") else text
        config = json.loads(said)
    except OSError as problem:
        raise InvalidInput("adapter_settings", f"{text[1:]!r} cannot be read: {problem.strerror}") from None
    except ValueError as problem:
        raise InvalidInput("adapter_settings", f"is no JSON: {problem}") from None
    if not isinstance(config, dict):
        raise InvalidInput("adapter_settings", "must be a JSON object")
    return config


def _settings(found: FleetScaling) -> dict[str, Any]:
    """Without the adapter's configuration: it may hold keys of a provider."""
    said: dict[str, Any] = json.loads(scaling.to_json(found.settings))
    return {"fleet": found.fleet, "adapter": found.adapter, **said}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else seconds_text(seconds)


def _report(report: ScalingReport) -> dict[str, Any]:
    return {
        "fleet": report.fleet,
        "desired_workers": report.desired,
        "ready": report.ready,
        "starting": report.starting,
        "draining": report.draining,
        "busy": report.busy,
        "queued": report.queued,
        "backlog_seconds": report.backlog_seconds,
        "expected_wait_seconds": report.expected_wait_seconds,
        "reason": report.reason,
        "text": report.text,
        "at": report.at.isoformat().replace("+00:00", "Z") if report.at is not None else None,
    }
