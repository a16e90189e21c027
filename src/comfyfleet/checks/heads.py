"""Where the chains stand: the central one, and each tenant's in a pool."""

from collections.abc import AsyncIterator, Mapping
from uuid import UUID

from comfyfleet.audit import Entry, sql
from comfyfleet.audit.checkpoint import CENTRAL_POOL
from comfyfleet.audit.model import CENTRAL_CHAIN, tenant_chain
from comfyfleet.audit.verify import Pin
from comfyfleet.house import House
from comfyfleet.kernel.ids import TenantId

BATCH = 1_000


async def read_heads(house: House, pool: str) -> dict[str, Pin]:
    """Chain to head, of one pool; of the central database for `CENTRAL_POOL`."""
    return await _central_heads(house) if pool == CENTRAL_POOL else await _pool_heads(house, pool)


async def _central_heads(house: House) -> dict[str, Pin]:
    async with house.control_tx(read_only=True) as tx:
        row = await tx.maybe(sql.head())
    return {CENTRAL_CHAIN: Pin(row.seq, row.mac, row.at)} if row is not None else {}


async def _pool_heads(house: House, pool: str) -> dict[str, Pin]:
    found: dict[str, Pin] = {}
    after: TenantId | None = None
    async with house.pool_tx(pool, read_only=True) as tx:
        while rows := await tx.all(sql.heads_after(after, rows=BATCH)):
            found |= {tenant_chain(row.tenant_id): Pin(row.seq, row.mac, row.at) for row in rows}
            after = rows[-1].tenant_id
    return found


async def read_entries(house: House, pool: str) -> AsyncIterator[tuple[str, Entry]]:
    """Every row of every chain there, chain by chain and in order; a batch at a time, each in its own transaction."""
    entries = _central_entries(house) if pool == CENTRAL_POOL else _pool_entries(house, pool)
    async for chain, entry in entries:
        yield chain, entry


async def _central_entries(house: House) -> AsyncIterator[tuple[str, Entry]]:
    seq = 0
    while True:
        async with house.control_tx(read_only=True) as tx:
            rows = await tx.all(sql.entries_after(seq, rows=BATCH))
        for row in rows:
            yield CENTRAL_CHAIN, Entry.from_row(row)
        if len(rows) < BATCH:
            return
        seq = rows[-1].seq


async def _pool_entries(house: House, pool: str) -> AsyncIterator[tuple[str, Entry]]:
    tenant_id: TenantId | None = None
    seq = 0
    while True:
        async with house.pool_tx(pool, read_only=True) as tx:
            rows = await tx.all(sql.tenant_entries_after(tenant_id, seq, rows=BATCH))
        for row in rows:
            yield tenant_chain(row.tenant_id), Entry.from_row(row)
        if len(rows) < BATCH:
            return
        tenant_id, seq = rows[-1].tenant_id, rows[-1].seq


async def still_hold(house: House, pool: str, pins: Mapping[str, Pin]) -> set[str]:
    """The chains that still have the very row that a pin names."""
    if pool == CENTRAL_POOL:
        macs = await _central_macs(house, pins)
    else:
        macs = await _pool_macs(house, pool, pins)
    return {chain for chain, pin in pins.items() if macs.get(chain) == pin.mac}


async def _central_macs(house: House, pins: Mapping[str, Pin]) -> dict[str, str]:
    async with house.control_tx(read_only=True) as tx:
        rows = {chain: await tx.maybe(sql.mac_at(pin.seq)) for chain, pin in pins.items()}
    return {chain: row.mac for chain, row in rows.items() if row is not None}


async def _pool_macs(house: House, pool: str, pins: Mapping[str, Pin]) -> dict[str, str]:
    places = [{"tenant_id": UUID(chain.partition(":")[2]), "seq": pin.seq} for chain, pin in pins.items()]
    found: dict[str, str] = {}
    async with house.pool_tx(pool, read_only=True) as tx:
        for start in range(0, len(places), BATCH):
            rows = await tx.all(sql.tenant_macs_at(places[start : start + BATCH]))
            found |= {tenant_chain(row.tenant_id): row.mac for row in rows}
    return found
