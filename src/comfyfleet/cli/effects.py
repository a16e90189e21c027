"""`comfyfleet effects`"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.choices import CREDITS_COST_MAX
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import ago, print_facts, print_table
from comfyfleet.cli.workflow_files import print_properties, read_bytes
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import settings, workflows
    from comfyfleet.db import ControlTx
    from comfyfleet.house import House
    from comfyfleet.workflows import Property, effects
    from comfyfleet.workflows.effects import Effect, ListedOffer, Offer, register

    Change = Callable[[ControlTx, str], Awaitable[Effect]]
else:
    effects = Late("comfyfleet.workflows.effects")
    register = Late("comfyfleet.workflows.effects.register")
    settings = Late("comfyfleet.settings")
    workflows = Late("comfyfleet.workflows")

app = typer.Typer()

Slug = Annotated[str, typer.Argument(help="Short name, such as old-film.")]
Override = Annotated[
    list[str] | None,
    typer.Option(help="NAME=VALUE: a default of the effect's own, which users may change; a file by its asset's name."),
]
Fixed = Annotated[
    list[str] | None, typer.Option(help="NAME=VALUE: a value that users neither see nor may change; repeatable.")
]
MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
}


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred effects."""

    async def work(house: House) -> list[ListedOffer]:
        async with house.control_tx(read_only=True) as tx:
            found = (await effects.list_offers(tx, PageRequest(rows=PAGE_ROWS_MAX), published_only=False)).rows
            return await house.show_availability(tx, found)

    found = in_house(work)
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    columns = {
        "slug": lambda each: each.offer.effect.slug,
        "name": lambda each: each.offer.effect.name,
        "workflow": lambda each: each.offer.workflow.slug,
        "tokens": lambda each: each.offer.effect.credits_cost,
        "published": lambda each: "yes" if each.offer.effect.is_published else "no",
        "takes": lambda each: seconds_text(each.offer.estimate_s),
        "unavailable because": lambda each: each.unavailable_because,
        "made": lambda each: ago(each.offer.effect.created_at),
    }
    print_table("Effects", found, columns)


@app.command("create")
def create(
    slug: Slug,
    workflow: Annotated[str, typer.Option(help="Slug of the workflow that it runs.")],
    name: Annotated[str | None, typer.Option(help="Full name. Default: the slug.")] = None,
    description: Annotated[str, typer.Option(help="What users read.")] = "",
    cost: Annotated[int, typer.Option(min=0, max=CREDITS_COST_MAX, help="Tokens that a job costs.")] = 0,
    override: Override = None,
    fixed: Fixed = None,
    asset: Annotated[list[str] | None, typer.Option(help="NAME=FILE: a picture or film of the effect's own.")] = None,
    preview: Annotated[Path | None, typer.Option(help="What the gallery shows.")] = None,
    publish: Annotated[bool, typer.Option("--publish", help="Show it to users at once.")] = False,
    waits_for_worker: Annotated[
        bool, typer.Option("--waits-for-worker", help="Take orders also while no worker can run it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an effect of a workflow. Users do not see it before it is published."""
    files = {each: Path(path) for each, path in _pairs("asset", asset).items()}
    contents = _read_files(files if preview is None else {**files, effects.PREVIEW: preview})
    said, kept = _pairs("override", override), _pairs("fixed", fixed)

    async def work(house: House) -> Offer:
        async with house.control_tx() as tx:
            overrides = await _overrides(tx, workflow, {**said, **kept})
            new = effects.NewEffect(
                slug,
                name or slug,
                description,
                overrides,
                cost,
                waits_for_worker=waits_for_worker,
                fixed=frozenset(kept),
            )
            made = await effects.add_effect(tx, new, workflow=workflow)
            await record(house, tx, "effect.add", slug, workflow=workflow, credits_cost=cost)
        for asset_name, (content, media_type) in contents.items():
            await _put_asset(house, made, asset_name, content, media_type)
        async with house.control_tx() as tx:
            if publish:
                await effects.publish_effect(tx, slug)
                await record(house, tx, "effect.publish", slug)
            return await effects.find_offer(tx, slug)

    made = in_house(work)
    hint = "Users see it." if publish else f"Next: comfyfleet effects publish {slug}"
    print_one(made.effect, as_json=as_json, sentence=f"Added effect {slug}. {hint}")


@app.command("show")
def show(slug: Slug, as_json: AsJson = False) -> None:
    """One effect, with what it sets and what it leaves to its users."""

    async def work(house: House) -> ListedOffer:
        async with house.control_tx(read_only=True) as tx:
            return (await house.show_availability(tx, [await effects.find_offer(tx, slug)]))[0]

    listed = in_house(work)
    if as_json:
        print_json(_as_json(listed))
        return
    found, effect = listed.offer, listed.offer.effect
    print_facts(
        {
            "effect": f"{effect.slug} ({effect.name})",
            "id": effect.id,
            "description": effect.description,
            "workflow": f"{found.workflow.slug}, version {found.workflow.version}",
            "tokens": effect.credits_cost,
            "published": "yes" if effect.is_published else "no",
            "unavailable because": listed.unavailable_because,
            "a job waits because": listed.waits_because,
            "does not fit": found.misfit,
            "workers lack": listed.lacks,
            "waits for a worker": "yes" if effect.waits_for_worker else "no",
            "fixed": _said(effect, is_fixed=True),
            "own defaults": _said(effect, is_fixed=False),
            "assets": ", ".join(f"{name} ({each.media_type})" for name, each in effect.assets.items()),
            "takes": seconds_text(found.estimate_s),
        }
    )
    print_properties(found.properties)


def _said(effect: Effect, *, is_fixed: bool) -> str:
    chosen = {name: value for name, value in effect.overrides.items() if (name in effect.fixed) is is_fixed}
    return ", ".join(f"{name}={value}" for name, value in chosen.items())


@app.command("put-asset")
def put_asset(slug: Slug, name: str, file: Path, as_json: AsJson = False) -> None:
    """Give it a picture or film under a name; `preview` is what the gallery shows."""
    ((content, media_type),) = _read_files({name: file}).values()

    async def work(house: House) -> Effect:
        async with house.control_tx(read_only=True) as tx:
            found = (await effects.find_offer(tx, slug)).effect
        return await _put_asset(house, found, name, content, media_type)

    print_one(in_house(work), as_json=as_json, sentence=f"Effect {slug} has {name}.")


@app.command("publish")
def publish(slug: Slug, as_json: AsJson = False) -> None:
    """Show it to users. It must fit its workflow and have all its assets."""
    print_one(_change(slug, "publish", effects.publish_effect), as_json=as_json, sentence=f"Users see {slug}.")


@app.command("unpublish")
def unpublish(slug: Slug, as_json: AsJson = False) -> None:
    """Hide it from users; jobs that were made run on."""
    changed = _change(slug, "unpublish", effects.unpublish_effect)
    print_one(changed, as_json=as_json, sentence=f"Users see {slug} no more.")


@app.command("update")
def update(
    slug: Slug,
    workflow: Annotated[str | None, typer.Option(help="Slug of another workflow that it runs.")] = None,
    name: Annotated[str | None, typer.Option(help="Full name.")] = None,
    description: Annotated[str | None, typer.Option(help="What users read.")] = None,
    cost: Annotated[int | None, typer.Option(min=0, max=CREDITS_COST_MAX, help="Tokens that a job costs.")] = None,
    waits_for_worker: Annotated[
        bool | None,
        typer.Option(
            "--waits-for-worker/--no-waits-for-worker",
            help="Whether orders are taken while no worker can run it; they wait until the queue deadline.",
        ),
    ] = None,
    override: Override = None,
    fixed: Fixed = None,
    open_again: Annotated[
        list[str] | None, typer.Option("--open", help="NAME: an override to take away; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change an effect. What is left out stays as it is; jobs that were made keep what they were made with."""
    said, kept = _pairs("override", override), _pairs("fixed", fixed)
    gone = frozenset(open_again or ())

    async def work(house: House) -> Effect:
        async with house.control_tx() as tx:
            await register.hold_effect(tx, slug)  # two operators at once: none loses the other's change
            before = await effects.find_offer(tx, slug)
            typed = await _overrides(tx, workflow or before.workflow.slug, {**said, **kept})
            values = {name: value for name, value in before.effect.overrides.items() if name not in gone} | typed
            change = effects.EffectChange(
                overrides=values if typed or gone else None,
                fixed=((before.effect.fixed - said.keys()) | kept.keys()) & values.keys(),
                name=name,
                description=description,
                workflow=workflow,
                credits_cost=cost,
                waits_for_worker=waits_for_worker,
            )
            changed = await effects.change_effect(tx, slug, change)
            await record(house, tx, "effect.change", slug)
            return changed

    print_one(in_house(work), as_json=as_json, sentence=f"Changed effect {slug}.")


@app.command("delete")
def delete(slug: Slug, as_json: AsJson = False) -> None:
    """For good. It must be unpublished first."""
    print_one(_change(slug, "delete", effects.delete_effect), as_json=as_json, sentence=f"Effect {slug} is gone.")


def _change(slug: str, verb: str, change: Change) -> Effect:
    async def work(house: House) -> Effect:
        async with house.control_tx() as tx:
            changed = await change(tx, slug)
            await record(house, tx, f"effect.{verb}", slug)
            return changed

    return in_house(work)


async def _put_asset(house: House, effect: Effect, name: str, content: bytes, media_type: str) -> Effect:
    described = effects.describe_asset(effect.id, content, media_type)
    await effects.keep_asset(house.store, described, content)
    async with house.control_tx() as tx:
        changed = await effects.put_asset(tx, effect.slug, name, described)
        await record(house, tx, "effect.put_asset", effect.slug, asset=name, content_hash=described.content_hash)
        return changed


async def _overrides(tx: ControlTx, workflow: str, said: dict[str, str]) -> dict[str, Any]:
    """What is typed is text; the property says what it means."""
    found = await workflows.find_workflow(tx, workflow)
    version = await workflows.find_version(tx, found.id, found.version)
    by_name = {each.name: each for each in version.properties}
    return {name: _meant(by_name.get(name), text) for name, text in said.items()}


def _meant(prop: Property | None, text: str) -> Any:
    if prop is None or prop.is_media or prop.type is workflows.PropertyType.TEXT:
        return text
    if prop.type is workflows.PropertyType.CHOICE:
        return next((each for each in prop.choices or () if str(each) == text), text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given or []:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise InvalidInput(option, f"{each!r} must be written NAME=VALUE")
        found[name] = value
    return found


def _read_files(files: dict[str, Path]) -> dict[str, tuple[bytes, str]]:
    """All of them, checked, before anything is written."""
    bytes_max = settings.load_settings().effect_asset_bytes_max
    found = {}
    for name, path in files.items():
        content, media_type = read_bytes(name, path, bytes_max=bytes_max), MEDIA_TYPES.get(path.suffix.lower())
        if media_type is None:
            raise InvalidInput(name, f"{path} must end in one of {', '.join(MEDIA_TYPES)}")
        effects.check_asset(content, media_type)
        found[name] = (content, media_type)
    return found


def _as_json(listed: ListedOffer) -> dict[str, Any]:
    offer = listed.offer
    return {
        **plain(offer.effect),
        "workflow": offer.workflow.slug,
        "unavailable_because": listed.unavailable_because,
        "waits_because": listed.waits_because,
        "misfit": offer.misfit,
        "lacks": listed.lacks,
        "properties": [each.as_json() for each in offer.properties],
    }
