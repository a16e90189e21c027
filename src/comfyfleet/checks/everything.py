"""Ask for every invariant, everywhere. A database that does not answer is named, and the others are still asked."""

from collections.abc import Awaitable, Iterable

from comfyfleet.checks.across import AGREES, OWN_MAKE, PAIRED, check_across
from comfyfleet.checks.chains import ChainsReport, verify_chains
from comfyfleet.checks.invariants import CENTRAL, POOL, check_invariants
from comfyfleet.checks.model import About, Finding, Offenders
from comfyfleet.house import House
from comfyfleet.kernel.errors import Unavailable

CHAINS = ("A1", "the audit chains hold, and hold their newest checkpoint")


async def check_everything(house: House) -> list[Finding]:
    findings = await _or_unchecked(_central(house), [(each.code, each.says) for each in CENTRAL], house.central.name)
    for pool in house.pools:
        findings += await _or_unchecked(_pool(house, pool), _asked_of_a_pool(), pool)
    findings += await _or_unchecked(_chains(house), [CHAINS], "all")
    return findings


async def _or_unchecked(asking: Awaitable[list[Finding]], about: Iterable[About], database: str) -> list[Finding]:
    try:
        return await asking
    except Unavailable:
        return [Finding(code, says, database, "unchecked") for code, says in about]


async def _central(house: House) -> list[Finding]:
    async with house.control_tx(read_only=True) as tx:
        return await check_invariants(tx, CENTRAL, database=house.central.name, rules=house.queue_rules)


async def _pool(house: House, pool: str) -> list[Finding]:
    async with house.pool_tx(pool, read_only=True) as tx:
        alone = await check_invariants(tx, POOL, database=pool, rules=house.queue_rules)
    return [*alone, *await check_across(house, pool)]


def _asked_of_a_pool() -> list[About]:
    return [*((each.code, each.says) for each in POOL), AGREES, PAIRED, OWN_MAKE]


async def _chains(house: House) -> list[Finding]:
    report = await verify_chains(house)
    unreachable = [Finding(*CHAINS, name, "unchecked") for name in report.unreachable]
    return [Finding.of(CHAINS, "all", _offenders(report)), *unreachable]


def _offenders(report: ChainsReport) -> Offenders:
    offenders = Offenders()
    for key in report.damaged_checkpoints:
        offenders.add(checkpoint=key, problem="is not signed with this server's key")
    for chain in report.chains:
        if (fault := chain.fault) is not None:
            offenders.add(database=chain.database, chain=chain.chain, row=fault.seq, problem=fault.problem)
    return offenders
