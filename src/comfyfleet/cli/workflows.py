"""`comfyfleet workflows`"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.choices import ProviderChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import ago, print_facts, print_table, short
from comfyfleet.cli.workflow_files import agreed, agreed_output, print_properties, read_graph_file
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import dispatch, workflows
    from comfyfleet.db import ControlTx
    from comfyfleet.house import House
    from comfyfleet.workflows import ReadyGraph, Version, Workflow
    from comfyfleet.workflows.publish import Record
else:
    dispatch = Late("comfyfleet.dispatch")
    workflows = Late("comfyfleet.workflows")

app = typer.Typer()

Slug = Annotated[str, typer.Argument(help="Short name, such as face-swap.")]
GraphFile = Annotated[Path, typer.Argument(help="File as ComfyUI exports ('Export (API)') or saves it.")]
ObjectInfoOption = Annotated[
    str | None,
    typer.Option(
        "--object-info", help="Server's address, or file with its GET /object_info. Default: what workers report."
    ),
]
PropertiesFile = Annotated[
    Path | None, typer.Option("--properties", help="JSON list of properties, as `export-properties` writes it.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Take the proposed properties without asking.")]
OutputNode = Annotated[
    str | None,
    typer.Option(help="Whose first output is the result. Default: the node that saves; needed where several do."),
]
StructureHash = Annotated[str | None, typer.Option(help="Default: made from the graph.")]
RunDeadline = Annotated[int | None, typer.Option(min=1, help="Default: the setting of that name.")]
ExpectedS = Annotated[float | None, typer.Option(min=0.001, help="Expected seconds on a GPU. Default: 1.")]
ProviderOption = Annotated[ProviderChoice | None, typer.Option(help="Where it may run. Default: self_hosted.")]
VramGb = Annotated[float | None, typer.Option(min=0, help="GPU memory that a server must have.")]
NewVersionFlag = Annotated[
    bool,
    typer.Option("--new-version", help="The slug is known: this is its next version. What is not said stays as it is."),
]
Note = Annotated[str, typer.Option(help="What is new in this version.")]
VersionOption = Annotated[int | None, typer.Option("--version", min=1, help="Default: the version in force.")]


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred workflows."""

    async def work(house: House) -> list[Workflow]:
        async with house.control_tx(read_only=True) as tx:
            return (await workflows.list_workflows(tx, PageRequest(rows=PAGE_ROWS_MAX))).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "slug": lambda each: each.slug,
        "name": lambda each: each.name,
        "active": lambda each: "yes" if each.is_active else "no",
        "version": lambda each: each.version,
        "provider": lambda each: each.provider,
        "run deadline": lambda each: seconds_text(each.run_deadline_s) if each.run_deadline_s else None,
        "structure": lambda each: short(each.structure_hash),
        "made": lambda each: ago(each.created_at),
    }
    print_table("Workflows", found, columns)


@app.command("create")
def create(
    slug: Slug,
    graph: GraphFile,
    name: Annotated[str | None, typer.Option(help="Full name. Default: the slug.")] = None,
    properties: PropertiesFile = None,
    yes: Yes = False,
    new_version: NewVersionFlag = False,
    output_node: OutputNode = None,
    structure_hash: StructureHash = None,
    run_deadline_s: RunDeadline = None,
    expected_s: ExpectedS = None,
    provider: ProviderOption = None,
    vram_gb: VramGb = None,
    note: Note = "",
    object_info: ObjectInfoOption = None,
    as_json: AsJson = False,
) -> None:
    """Register a graph: proposes what users may set, and asks. No worker gets it before it is assigned to a fleet."""
    ready = _ready(read_graph_file(graph), object_info)
    if ready.is_converted and not as_json:
        typer.echo(_how_converted(ready, object_info))
    text, parsed = workflows.read_graph_text(ready.graph)
    before = in_house(_reading(slug, None))[1] if new_version else None
    known = before.properties if before else ()
    chosen = agreed(parsed, properties, before=known, ready=ready, is_yes=yes, as_json=as_json)
    output = agreed_output(
        parsed, output_node, before=before.output_node if before else None, is_asked=not (yes or as_json)
    )
    kept = _kept(before)
    new = workflows.prepare_version(
        text,
        properties=chosen,
        output_node=output,
        structure_hash=structure_hash,
        vram_gb=kept["vram_gb"] if vram_gb is None else vram_gb,
        provider=provider if provider else kept["provider"],
        expected_s=expected_s or kept["expected_s"],
        run_deadline_s=run_deadline_s or kept["run_deadline_s"],
        note=note,
        definitions=ready.reported,
    )

    async def work(house: House) -> Workflow:
        store, control_tx = house.store, house.control_tx
        if new_version:
            as_version = _recording(house, "workflow.add_version")
            return await workflows.publish_version(store, control_tx, new, slug=slug, record=as_version)
        as_first = _recording(house, "workflow.add")
        return await workflows.publish_workflow(store, control_tx, new, slug=slug, name=name or slug, record=as_first)

    made = in_house(work)
    sentence = f"Added workflow {slug}. Next: comfyfleet fleets assign FLEET {slug}"
    if new_version:
        sentence = f"Version {made.version} of {slug} is in force."
    print_one(made, as_json=as_json, sentence=sentence)


def _ready(text: bytes, source: str | None) -> ReadyGraph:
    """In API format, with the node classes of a server named, or of the workers that have reported theirs."""
    from comfyfleet.cli.comfy.inspect import read_object_info

    info = read_object_info(source) if source is not None else None

    async def work(house: House) -> ReadyGraph:
        return await workflows.ready_graph(house.store, house.control_tx, text, object_info=info)

    return in_house(work)


def _how_converted(ready: ReadyGraph, source: str | None) -> str:
    used = ready.used
    whose = f"worker {used.worker_id}, seen {ago(used.seen_at)}" if used else source
    return f"Converted from the editor's format with the node classes of {whose}."


def _kept(before: Version | None) -> dict[str, Any]:
    """What holds where nothing is said: as the version in force has it. A new graph does not move to another home."""
    if before is None:
        return {
            "provider": dispatch.Provider.SELF_HOSTED.value,
            "expected_s": 1.0,
            "run_deadline_s": None,
            "vram_gb": None,
        }
    return {
        "provider": before.provider,
        "expected_s": before.expected_s,
        "run_deadline_s": before.run_deadline_s,
        "vram_gb": before.requirements.vram_gb,
    }


@app.command("show")
def show(slug: Slug, version: VersionOption = None, as_json: AsJson = False) -> None:
    """One version: what users may set, what it needs."""
    found, shown = in_house(_reading(slug, version))
    if as_json:
        print_json({"workflow": plain(found), "version": _version_json(shown)})
        return
    print_facts(
        {
            "workflow": f"{found.slug} ({found.name}), {'active' if found.is_active else 'inactive'}",
            "version": f"{shown.version}{' (in force)' if shown.version == found.version else ''}, {shown.note or '-'}",
            "content": shown.content_hash,
            "structure": shown.structure_hash,
            "output node": shown.output_node,
            "provider": shown.provider,
            "expected": seconds_text(shown.expected_s),
            "weights": ", ".join(shown.requirements.weights),
            "node classes": ", ".join(shown.requirements.node_classes),
            "GPU memory": f"{shown.requirements.vram_gb:g} GB" if shown.requirements.vram_gb else None,
        }
    )
    print_properties(shown.properties)


@app.command("list-versions")
def list_versions(slug: Slug, as_json: AsJson = False) -> None:
    """The newest hundred versions."""

    async def work(house: House) -> tuple[Workflow, list[Version]]:
        async with house.control_tx(read_only=True) as tx:
            found = await workflows.find_workflow(tx, slug)
            return found, await workflows.list_versions(tx, found.id)

    workflow, found = in_house(work)
    if as_json:
        print_json([_version_json(each) for each in found])
        return
    columns = {
        "version": lambda each: each.version,
        "in force": lambda each: "yes" if each.version == workflow.version else None,
        "properties": lambda each: len(each.properties),
        "content": lambda each: short(each.content_hash),
        "structure": lambda each: short(each.structure_hash),
        "note": lambda each: each.note,
        "made": lambda each: ago(each.created_at),
    }
    print_table(f"Versions of {slug}", found, columns)


@app.command("use")
def use(slug: Slug, version: Annotated[int, typer.Argument(min=1, max=2**31 - 1)], as_json: AsJson = False) -> None:
    """Back to an earlier version, or forth again. Jobs that were made keep their graph."""

    async def work(house: House) -> Workflow:
        async with house.control_tx() as tx:
            changed = await workflows.use_version(tx, slug, version)
            await record(house, tx, "workflow.use", slug, version=version)
            return changed

    print_one(in_house(work), as_json=as_json, sentence=f"Version {version} of {slug} is in force.")


@app.command("export-properties")
def export_properties(slug: Slug, version: VersionOption = None) -> None:
    """Print the properties as JSON: edit them, and give them to `create --properties`."""
    _, shown = in_house(_reading(slug, version))
    typer.echo(json.dumps([each.as_json() for each in shown.properties], indent=2, ensure_ascii=False))


@app.command("activate")
def activate(slug: Slug, as_json: AsJson = False) -> None:
    """Give it to workers again."""
    _set_active(slug, is_active=True, as_json=as_json)


@app.command("deactivate")
def deactivate(slug: Slug, as_json: AsJson = False) -> None:
    """Give it to no worker; what waits for it waits on."""
    _set_active(slug, is_active=False, as_json=as_json)


def _set_active(slug: str, *, is_active: bool, as_json: bool) -> None:
    verb = "activate" if is_active else "deactivate"

    async def work(house: House) -> Workflow:
        async with house.control_tx() as tx:
            changed = await workflows.set_workflow_active(tx, slug, is_active=is_active)
            await record(house, tx, f"workflow.{verb}", slug)
        house.desk.assignments_changed()
        return changed

    print_one(in_house(work), as_json=as_json, sentence=f"Workflow {slug} is {'active' if is_active else 'inactive'}.")


def _reading(slug: str, version: int | None) -> Callable[[House], Awaitable[tuple[Workflow, Version]]]:
    async def work(house: House) -> tuple[Workflow, Version]:
        async with house.control_tx(read_only=True) as tx:
            found = await workflows.find_workflow(tx, slug)
            return found, await workflows.find_version(tx, found.id, version or found.version)

    return work


def _recording(house: House, verb: str) -> Record:
    async def write(tx: ControlTx, made: Workflow) -> None:
        await record(house, tx, verb, made.slug, structure_hash=made.structure_hash, version=made.version)

    return write


def _version_json(version: Version) -> dict[str, Any]:
    properties = [each.as_json() for each in version.properties]
    return {**plain(version), "properties": properties, "requirements": version.requirements.as_json()}
