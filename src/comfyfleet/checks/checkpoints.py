"""Checkpoints of the audit chains in the object store: the newest one, and the next one."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import structlog

from comfyfleet.audit import ChainSigner, FoundFault, acknowledged_alarms, raise_alarms, sql
from comfyfleet.audit.checkpoint import CENTRAL_POOL, ChainPlace, Checkpoint, follow, says_the_same
from comfyfleet.audit.verify import Pin
from comfyfleet.checks.heads import read_heads, still_hold
from comfyfleet.house import House
from comfyfleet.kernel.errors import Conflict, DatabaseUnavailable, InvalidInput
from comfyfleet.kernel.ids import id_at
from comfyfleet.storage import ObjectKey, ObjectStore, object_key

FOLDER = object_key("audit", "checkpoints")
CHECKPOINT_BYTES_MAX = 64 * 1024**2
# Beyond so many that are not ours, somebody floods the folder, and a person must look.
DAMAGED_MAX = 100

LOST = "is not what the newest checkpoint remembers: rows were changed or removed, or an older copy was restored"
NOT_TRUSTED = "none of the newest checkpoints is signed with this server's key"

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}/")
_NAME = re.compile(r"[0-9a-f-]{36}\.json")

log = structlog.get_logger()


class NoTrustedCheckpoint(Conflict):
    """There are audit checkpoints, and none of the newest is signed with our key."""

    code = "no_trusted_checkpoint"
    text = "None of the newest audit checkpoints is signed with this server's key; the newest is {key}."

    def __init__(self, key: str) -> None:
        super().__init__(key=key)


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest checkpoint that holds its signature, and those after it that do not."""

    checkpoint: Checkpoint | None
    damaged: list[ObjectKey]


async def latest_checkpoint(store: ObjectStore, signer: ChainSigner) -> Latest:
    damaged: list[ObjectKey] = []
    async for key in _newest_first(store):
        found = await _read(store, key, signer)
        if found is not None:
            return Latest(found, damaged)
        damaged.append(key)
        if len(damaged) >= DAMAGED_MAX:
            break
    return Latest(None, damaged)


async def take_checkpoint(house: House) -> int:
    """Written only if a chain has grown. How many have."""
    latest = await latest_checkpoint(house.store, house.chain)
    if latest.checkpoint is None and latest.damaged:
        # To start anew here would confirm whatever the databases hold now.
        await raise_faults(house, [FoundFault(CENTRAL_POOL, "checkpoints", 0, NOT_TRUSTED)])
        raise NoTrustedCheckpoint(latest.damaged[0])
    before = latest.checkpoint.heads if latest.checkpoint is not None else {}
    found: dict[ChainPlace, Pin] = {}
    lost: set[ChainPlace] = set()
    for pool in [CENTRAL_POOL, *house.pools]:
        heads, broken = await _look(house, pool, {chain: pin for (at, chain), pin in before.items() if at == pool})
        found |= {(pool, chain): pin for chain, pin in heads.items()}
        lost |= {(pool, chain) for chain in broken}
    lost = await _not_acknowledged(house, {place: before[place] for place in lost})
    await raise_faults(house, [FoundFault(*place, before[place].seq, LOST) for place in sorted(lost)])
    heads_now = follow(before, found, lost=lost)
    if says_the_same(before, heads_now):
        return 0
    await _write(house, heads_now)
    return sum(before.get(place) is None or before[place].seq != pin.seq for place, pin in heads_now.items())


async def _not_acknowledged(house: House, lost: dict[ChainPlace, Pin]) -> set[ChainPlace]:
    """An operator has seen that rows are lost: from there on what the chain holds now is remembered."""
    if not lost:
        return set()
    async with house.control_tx(read_only=True) as tx:
        seen = {(each.pool, each.chain, each.seq) for each in await acknowledged_alarms(tx) if each.problem == LOST}
    return {(pool, chain) for (pool, chain), pin in lost.items() if (pool, chain, pin.seq) not in seen}


async def raise_faults(house: House, faults: Sequence[FoundFault]) -> int:
    """How many are new."""
    if not faults:
        return 0
    async with house.control_tx() as tx:
        raised = await raise_alarms(tx, faults)
    for each in raised:
        log.error("audit.alarm", pool=each.pool or "central", chain=each.chain, seq=each.seq, problem=each.problem)
    return len(raised)


async def _look(house: House, pool: str, before: dict[str, Pin]) -> tuple[dict[str, Pin], set[str]]:
    """The heads there, and the chains that have lost what was remembered of them. A dead pool has nothing to say."""
    try:
        heads = await read_heads(house, pool)
        # Also of chains that have not grown: the row may be gone while the head that names it stands.
        broken = before.keys() - await still_hold(house, pool, before) if before else set()
    except DatabaseUnavailable:
        log.warning("audit.checkpoint_without", pool=pool or "central")
        return {}, set()
    for chain in sorted(broken):
        log.error("audit.chain_broken", pool=pool or "central", chain=chain, seq=before[chain].seq)
    return heads, broken


async def _read(store: ObjectStore, key: ObjectKey, signer: ChainSigner) -> Checkpoint | None:
    try:
        found = Checkpoint.from_bytes(await store.read(key, bytes_max=CHECKPOINT_BYTES_MAX), signer)
    except InvalidInput:
        return None  # larger than any of ours
    return found if found is not None and key.endswith(f"/{found.id}.json") else None


async def _write(house: House, heads: dict[ChainPlace, Pin]) -> None:
    async with house.control_tx(read_only=True) as tx:
        at = (await tx.one(sql.clock())).at
    checkpoint = Checkpoint(id_at(at), at, heads)
    key = object_key(FOLDER, f"{at:%Y-%m-%d}", f"{checkpoint.id}.json")
    await house.store.write(key, checkpoint.to_bytes(house.chain), media_type="application/json")


async def _newest_first(store: ObjectStore) -> AsyncIterator[ObjectKey]:
    """A name that is no checkpoint's is nobody's business here."""
    for day in reversed(await store.list_names(FOLDER)):
        if not _DAY.fullmatch(day):
            continue
        folder = object_key(FOLDER, day.rstrip("/"))
        for name in reversed(await store.list_names(folder)):
            if _NAME.fullmatch(name):
                yield object_key(folder, name)
