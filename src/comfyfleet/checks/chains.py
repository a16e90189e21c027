"""Verify every audit chain: against its key, its head, and the newest checkpoint."""

from dataclasses import dataclass

from comfyfleet.audit import FoundFault
from comfyfleet.audit.checkpoint import CENTRAL_POOL
from comfyfleet.audit.verify import ChainCheck, Fault, Pin
from comfyfleet.checks.checkpoints import latest_checkpoint, raise_faults
from comfyfleet.checks.heads import read_entries, read_heads
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable


@dataclass(frozen=True, slots=True)
class ChainReport:
    """`head` and `checkpoint` are the numbers of the rows they name."""

    database: str
    chain: str
    rows: int
    head: int | None
    checkpoint: int | None
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class ChainsReport:
    chains: list[ChainReport]
    unreachable: list[str]
    damaged_checkpoints: list[str]

    @property
    def broken(self) -> list[ChainReport]:
        return [report for report in self.chains if report.fault is not None]


async def verify_chains(house: House) -> ChainsReport:
    # The checkpoint first: what it remembers must be there already, however long the rest takes.
    latest = await latest_checkpoint(house.store, house.chain)
    known = latest.checkpoint.pools() if latest.checkpoint is not None else set()
    chains: list[ChainReport] = []
    unreachable: list[str] = []
    for pool in [CENTRAL_POOL, *house.pools, *sorted(known - house.pools.keys())]:
        pins = latest.checkpoint.of_pool(pool) if latest.checkpoint is not None else {}
        try:
            chains += await _verify(house, pool, pins)
        except DatabaseUnavailable:
            unreachable.append(database_name(pool))
    return ChainsReport(chains, unreachable, list(latest.damaged))


async def watch_chains(house: House) -> int:
    """Verifies every chain, and raises an alarm for each that does not hold. How many are new."""
    report = await verify_chains(house)
    faults = [
        FoundFault("" if each.database == "central" else each.database, each.chain, each.fault.seq, each.fault.problem)
        for each in report.broken
        if each.fault is not None
    ]
    return await raise_faults(house, faults)


async def _verify(house: House, pool: str, pins: dict[str, Pin]) -> list[ChainReport]:
    heads = await read_heads(house, pool)
    checks = {chain: _check(house, chain, heads, pins) for chain in {*heads, *pins}}
    async for chain, entry in read_entries(house, pool):
        if chain not in checks:
            checks[chain] = _check(house, chain, heads, pins)
        checks[chain].take(entry)
    heads = await read_heads(house, pool)
    return [_report(pool, checks[chain], heads.get(chain)) for chain in sorted(checks)]


def _check(house: House, chain: str, heads: dict[str, Pin], pins: dict[str, Pin]) -> ChainCheck:
    return ChainCheck(chain, signer=house.chain, head=heads.get(chain), checkpoint=pins.get(chain))


def _report(pool: str, check: ChainCheck, head: Pin | None) -> ChainReport:
    fault = check.finish(head)
    pin = check.checkpoint
    return ChainReport(
        database=database_name(pool),
        chain=check.chain,
        rows=check.rows,
        head=head.seq if head is not None else None,
        checkpoint=pin.seq if pin is not None else None,
        fault=fault,
    )


def database_name(pool: str) -> str:
    return pool or "central"
