"""`comfyfleet pipelines …`: pipelines as YAML files that can be kept in git. Over the API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comfyfleet.cli.jobs import Url, a_client
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.tables import ago, print_facts, print_table

if TYPE_CHECKING:
    from comfyfleet import client as sdk
    from comfyfleet.client import Pipeline
else:
    sdk = Late("comfyfleet.client")

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Slug, or the id of one version.")]


@app.command("apply")
def apply(
    file: Annotated[Path, typer.Argument(help="A YAML file.")],
    check: Annotated[bool, typer.Option("--check", help="Only read the file: nothing is sent.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write a pipeline down. Unchanged, it stays as it is; changed, it is a new version."""
    from comfyfleet.pipelines.spec import parse_pipeline
    from comfyfleet.pipelines.written import read_written

    written = read_written(read_text(file), str(file))
    try:
        parse_pipeline(written.said)
        if check:
            typer.echo(f"{file} is a pipeline.")
            return
        with a_client(url) as client:
            applied = client.pipelines.apply(written.said)
    except sdk.InvalidInput as problem:
        raise written.locate(problem) from None
    made = applied.pipeline
    state = "is now" if applied.is_new else "is already"
    print_one(made, as_json=as_json, sentence=f"{made.slug} {state} version {made.version}.")


def read_text(file: Path) -> str:
    from comfyfleet.pipelines.written import FILE_BYTES_MAX, InvalidFile

    try:
        with file.open("rb") as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
        return content.decode()
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise InvalidFile(str(file), line, "pipeline", "is not UTF-8") from None
    except OSError as problem:
        raise sdk.InvalidInput("file", f"{file} cannot be read: {problem.strerror}") from None


@app.command("list")
def list_all(
    versions: Annotated[str | None, typer.Option("--versions-of", help="All versions of this slug.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """The newest version of each."""
    with a_client(url) as client:
        found = list(client.pipelines.list(slug=versions))
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "slug": lambda each: each.slug,
        "version": lambda each: each.version,
        "name": lambda each: each.name,
        "steps": lambda each: " → ".join(step.name for step in each.steps),
        "variables": lambda each: ", ".join(each.variables),
        "made": lambda each: ago(each.created_at),
        "id": lambda each: each.id,
    }
    print_table("Pipelines", found, columns)


@app.command("show")
def show(name: Name, url: Url = None, as_json: AsJson = False) -> None:
    """One pipeline, with its steps."""
    with a_client(url) as client:
        found = client.pipelines.find(name)
    if as_json:
        print_json(plain(found))
        return
    _print(found)


def _print(found: Pipeline) -> None:
    print_facts(
        {
            "slug": found.slug,
            "version": found.version,
            "name": found.name,
            "description": found.description,
            "variables": ", ".join(found.variables),
            "made": ago(found.created_at),
            "archived": ago(found.archived_at),
            "id": found.id,
        }
    )
    columns: dict[str, Any] = {
        "step": lambda step: step.position + 1,
        "name": lambda step: step.name,
        "effect": lambda step: step.effect,
        "needs": lambda step: ", ".join([*step.variables, *(["parent"] if step.needs_parent else [])]),
        "variants": lambda step: step.variants,
        "properties": lambda step: ", ".join(f"{name}={value}" for name, value in step.properties.items()),
    }
    print_table("Steps", found.steps, columns)


@app.command("archive")
def archive(name: Name, url: Url = None, as_json: AsJson = False) -> None:
    """No run is started with it any more. Runs under way go on; applied again, it is back."""
    with a_client(url) as client:
        found = client.pipelines.archive(name)
    print_one(found, as_json=as_json, sentence=f"{found.slug} is archived.")
