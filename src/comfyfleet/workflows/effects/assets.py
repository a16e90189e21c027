"""An effect's own files: its preview, its masks and overlays. The object first, then the row that names it."""

from hashlib import sha256

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.kernel.ids import EffectId
from comfyfleet.media.model import FAMILIES
from comfyfleet.media.sniff import HEAD_BYTES, describe, sniff_family
from comfyfleet.storage import ObjectKey, ObjectStore, object_key
from comfyfleet.workflows.effects import sql
from comfyfleet.workflows.effects.fit import require_assets
from comfyfleet.workflows.effects.model import Effect, asset_as_json
from comfyfleet.workflows.effects.read import find_offer
from comfyfleet.workflows.effects.register import hold_effect
from comfyfleet.workflows.payload import MediaObject
from comfyfleet.workflows.properties import NAME

ASSETS_MAX = 50


def check_asset(content: bytes, media_type: str) -> None:
    """By its first bytes: it is an operator's own, and nobody else's decoder has to be kept from it."""
    if media_type not in FAMILIES:
        raise InvalidInput("content_type", f"must be one of {', '.join(FAMILIES)}")
    if sniff_family(content[:HEAD_BYTES]) != FAMILIES[media_type]:
        raise InvalidInput("content", f"is said to be {media_type}, but holds {describe(content[:HEAD_BYTES])}")


def describe_asset(effect_id: EffectId, content: bytes, media_type: str) -> MediaObject:
    """Checked, with its place in the store: the same bytes are one object, and no job's object ever changes. Pure."""
    check_asset(content, media_type)
    digest = sha256(content).hexdigest()
    return MediaObject(object_key("effects", effect_id, digest), media_type, len(content), digest)


async def keep_asset(store: ObjectStore, asset: MediaObject, content: bytes) -> None:
    """Outside any transaction. A crash before the row is written leaves an object that nobody names."""
    try:
        await store.write(ObjectKey(asset.path), content, media_type=asset.media_type)
    except AlreadyExists:
        return  # the same bytes were uploaded before


async def put_asset(tx: ControlTx, slug: str, name: str, asset: MediaObject) -> Effect:
    """Under this name from now on; jobs that were made before keep the one they were made with."""
    if not NAME.fullmatch(name):
        raise InvalidInput("name", "must begin with a letter and hold letters, digits, '_', '.' and '-'")
    effect = await hold_effect(tx, slug)
    assets = {**effect.assets, name: asset}
    if len(assets) > ASSETS_MAX:
        raise InvalidInput("name", f"an effect has at most {ASSETS_MAX} assets")
    return await _write(tx, effect, assets)


async def drop_asset(tx: ControlTx, slug: str, name: str) -> Effect:
    effect = await hold_effect(tx, slug)
    if name not in effect.assets:
        raise NotFound("asset", name)
    return await _write(tx, effect, {each: asset for each, asset in effect.assets.items() if each != name})


async def _write(tx: ControlTx, effect: Effect, assets: dict[str, MediaObject]) -> Effect:
    version = (await find_offer(tx, effect.slug)).version
    if effect.is_published and version is not None:
        require_assets(version.properties, effect.overrides, assets)
    written = {name: asset_as_json(asset) for name, asset in assets.items()}
    return Effect.from_row(await tx.one(sql.set_assets(effect.id, written)))
