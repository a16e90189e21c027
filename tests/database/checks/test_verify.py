"""Every way to change a chain is found, and the first bad row named; on both engines, in both kinds of chain."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from comfyfleet import audit, checks
from comfyfleet.audit import Action, Actor, ChainSigner, Entry
from comfyfleet.audit.model import CENTRAL_CHAIN, tenant_chain
from comfyfleet.checks import checkpoints
from comfyfleet.db.tables import audit_log, tenant_audit_log
from comfyfleet.house import House
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage import object_key
from comfyfleet.tenants import Tenant
from comfyfleet.upkeep import checkpoint_audit, verify_audit
from tests.builders import a_tenant
from tests.conftest import ManualClock
from tests.database.checks.attack import Attacker

OPERATOR = Actor("operator", "op@example.com", "192.0.2.1")
ROWS = 8


@dataclass(frozen=True)
class Chain:
    """One chain with eight honest rows, and the attacker beside it."""

    house: House
    tenant: Tenant | None
    attacker: Attacker

    @property
    def name(self) -> str:
        return tenant_chain(self.tenant.id) if self.tenant else CENTRAL_CHAIN

    @property
    def log(self) -> str:
        return "tenant_audit_log" if self.tenant else "audit_log"

    @property
    def head(self) -> str:
        return "tenant_audit_heads" if self.tenant else "audit_head"

    async def record(self, times: int = 1) -> None:
        for number in range(times):
            action = Action("tenant.suspend", f"subject-{number}", {"why": "because"})
            if self.tenant is None:
                async with self.house.control_tx() as tx:
                    await audit.record_action(tx, OPERATOR, action, signer=self.house.chain)
            else:
                async with self.house.tenant_tx(self.tenant) as tenant_tx:
                    await audit.record_tenant_action(tenant_tx, OPERATOR, action, signer=self.house.chain)

    async def fault(self) -> tuple[int, str] | None:
        """The first bad row of this chain; every other chain must hold."""
        found = {each.chain: each.fault for each in (await checks.verify_chains(self.house)).chains}
        fault = found.pop(self.name)
        assert set(found.values()) <= {None}
        return (fault.seq, fault.problem) if fault else None

    async def mac_of(self, seq: int) -> str:
        (row,) = await self.attacker.read(f"SELECT mac FROM {self.log} WHERE seq = :seq", seq=seq)
        return str(row["mac"])

    async def cut_after(self, seq: int, *, with_head: bool) -> None:
        await self.attacker.run(f"DELETE FROM {self.log} WHERE seq > :seq", seq=seq)
        if with_head:
            mac = await self.mac_of(seq)
            await self.attacker.run(f"UPDATE {self.head} SET seq = :seq, mac = :mac", seq=seq, mac=mac)


@pytest.fixture(params=["central", "tenant"])
async def chain(house: House, request: pytest.FixtureRequest) -> Chain:
    tenant = await a_tenant(house) if request.param == "tenant" else None
    database = house.pools["main"] if tenant else house.central
    # A neighbour that nobody touches.
    if tenant is None:
        async with house.tenant_tx(await a_tenant(house)) as tx:
            await audit.record_tenant_action(tx, OPERATOR, Action("x"), signer=house.chain)
    else:
        async with house.control_tx() as control_tx:
            await audit.record_action(control_tx, OPERATOR, Action("x"), signer=house.chain)
    made = Chain(house, tenant, Attacker(database))
    await made.record(ROWS)
    return made


async def test_an_honest_chain_holds_with_and_without_a_checkpoint(chain: Chain) -> None:
    assert await chain.fault() is None
    assert await checkpoint_audit.tick(chain.house) == 2
    assert await chain.fault() is None
    await chain.record()
    assert await chain.fault() is None


EDITS = {
    "actor_kind": "user",
    "actor": "somebody@else",
    "action": "nothing",
    "subject": "another",
    "address": "192.0.2.99",
    "detail": "{}",
    "mac": "0" * 64,
}


@pytest.mark.parametrize("column", EDITS)
async def test_an_edited_row_is_named(chain: Chain, column: str) -> None:
    await chain.attacker.run(f"UPDATE {chain.log} SET {column} = :value WHERE seq = 4", value=EDITS[column])
    fault = await chain.fault()
    assert fault is not None
    assert fault[0] == 4
    assert "was changed" in fault[1]


async def test_a_moved_time_is_named(chain: Chain) -> None:
    later = "'2031-01-01T00:00:00.000000Z'"
    await chain.attacker.run(f"UPDATE {chain.log} SET at = {later} WHERE seq = 5")
    assert (await chain.fault() or (0,))[0] == 5


async def test_a_time_that_is_none_is_named_and_not_stumbled_over(chain: Chain) -> None:
    nonsense = "'long ago'" if chain.attacker.on_sqlite else "'infinity'"
    await chain.attacker.run(f"UPDATE {chain.log} SET at = {nonsense} WHERE seq = 5")
    assert (await chain.fault() or (0,))[0] == 5


async def test_a_mac_of_strange_letters_is_named_and_not_stumbled_over(chain: Chain) -> None:
    await chain.attacker.run(f"UPDATE {chain.log} SET mac = :mac WHERE seq = 3", mac="é" * 64)
    assert (await chain.fault() or (0,))[0] == 3


async def test_a_row_deleted_in_the_middle_is_named(chain: Chain) -> None:
    await chain.attacker.run(f"DELETE FROM {chain.log} WHERE seq = 4")
    assert await chain.fault() == (4, "is missing")


async def test_a_row_deleted_and_the_rest_renumbered_is_named(chain: Chain) -> None:
    moves = [f"UPDATE {chain.log} SET seq = {seq - 1} WHERE seq = {seq}" for seq in range(5, ROWS + 1)]
    await chain.attacker.run(f"DELETE FROM {chain.log} WHERE seq = 4", *moves)
    assert (await chain.fault() or (0,))[0] == 4


async def test_the_first_row_deleted_is_named(chain: Chain) -> None:
    await chain.attacker.run(f"DELETE FROM {chain.log} WHERE seq = 1")
    assert await chain.fault() == (1, "is missing")


async def test_the_last_row_deleted_is_named_by_the_head(chain: Chain) -> None:
    await chain.cut_after(ROWS - 1, with_head=False)
    assert await chain.fault() == (ROWS, f"is missing: the head knows rows up to {ROWS}")


async def test_a_chain_cut_short_with_its_head_is_named_by_the_checkpoint(chain: Chain) -> None:
    await checkpoint_audit.tick(chain.house)
    await chain.cut_after(5, with_head=True)
    assert await chain.fault() == (6, f"is missing: the checkpoint knows rows up to {ROWS}")


async def test_cut_short_and_continued_by_the_honest_server_is_named_by_the_checkpoint(chain: Chain) -> None:
    """Every mac fits, every number is there, the head is right: only what was remembered elsewhere tells."""
    await checkpoint_audit.tick(chain.house)
    await chain.cut_after(5, with_head=True)
    await chain.record(ROWS)
    assert await chain.fault() == (6, f"was replaced: the checkpoint of row {ROWS} differs")


async def test_the_next_checkpoint_does_not_confirm_a_cut(chain: Chain) -> None:
    await checkpoint_audit.tick(chain.house)
    await chain.cut_after(5, with_head=True)
    assert await checkpoint_audit.tick(chain.house) == 0
    await chain.record(ROWS)
    for _ in range(2):
        await checkpoint_audit.tick(chain.house)
        assert (await chain.fault() or (0,))[0] == 6


async def test_swapped_rows_are_named(chain: Chain) -> None:
    swap = [f"UPDATE {chain.log} SET seq = {to} WHERE seq = {of}" for of, to in ((3, 99), (6, 3), (99, 6))]
    await chain.attacker.run(*swap)
    assert (await chain.fault() or (0,))[0] == 3


async def test_a_chain_written_anew_without_the_key_is_named(chain: Chain) -> None:
    guess = ChainSigner(Secret("what the attacker thinks the key is"))
    table = tenant_audit_log if chain.tenant else audit_log
    async with chain.attacker.database.engine.connect() as connection:
        rows = (await connection.execute(table.select().order_by(table.c.seq))).all()
    mac = rows[3].mac
    for row in rows[4:]:
        mac = guess.mac(chain.name, Entry.from_row(row), before=mac)
        await chain.attacker.run(f"UPDATE {chain.log} SET mac = :mac WHERE seq = :seq", mac=mac, seq=row.seq)
    await chain.attacker.run(f"UPDATE {chain.head} SET mac = :mac", mac=mac)
    assert (await chain.fault() or (0,))[0] == 5


async def test_a_forged_row_at_the_end_is_named(chain: Chain) -> None:
    columns = "at, actor_kind, actor, action, subject, address, detail, mac"
    columns = f"tenant_id, {columns}" if chain.tenant else columns
    forge = f"INSERT INTO {chain.log} (seq, {columns}) SELECT {ROWS + 1}, {columns} FROM {chain.log} WHERE seq = {ROWS}"
    await chain.attacker.run(forge)
    assert (await chain.fault() or (0,))[0] == ROWS + 1


@pytest.mark.parametrize(
    ("change", "first_bad"),
    [("SET seq = 3", 3), ("SET mac = 'x'", ROWS), ("SET seq = 99", ROWS + 1)],
)
async def test_a_changed_head_is_named(chain: Chain, change: str, first_bad: int) -> None:
    await chain.attacker.run(f"UPDATE {chain.head} {change}")
    assert (await chain.fault() or (0,))[0] == first_bad


async def test_a_deleted_head_is_named(chain: Chain) -> None:
    await chain.attacker.run(f"DELETE FROM {chain.head}")
    assert await chain.fault() == (ROWS, "has no head after it")


async def test_a_whole_chain_dropped_is_named_by_the_checkpoint(chain: Chain) -> None:
    await checkpoint_audit.tick(chain.house)
    await chain.attacker.run(f"DELETE FROM {chain.log}", f"DELETE FROM {chain.head}")
    assert await chain.fault() == (1, f"is missing: the checkpoint knows rows up to {ROWS}")
    assert await checkpoint_audit.tick(chain.house) == 0
    assert (await chain.fault() or (0,))[0] == 1


async def test_a_row_of_one_tenants_chain_cannot_stand_in_anothers(house: House) -> None:
    one, other = await a_tenant(house), await a_tenant(house)
    for tenant in (one, other):
        async with house.tenant_tx(tenant) as tx:
            await audit.record_tenant_action(tx, OPERATOR, Action("PAYMENT_CREDIT"), signer=house.chain)
    attacker = Attacker(house.pools["main"])
    (row,) = await attacker.read("SELECT mac FROM tenant_audit_log WHERE tenant_id = :tenant", tenant=one.id)
    await attacker.run("DELETE FROM tenant_audit_log WHERE tenant_id = :tenant", tenant=other.id)
    await attacker.run(
        "INSERT INTO tenant_audit_log SELECT :other, seq, at, actor_kind, actor, action, subject, address, detail, mac"
        " FROM tenant_audit_log WHERE tenant_id = :tenant",
        tenant=one.id,
        other=other.id,
    )
    await attacker.run(
        "UPDATE tenant_audit_heads SET mac = :mac WHERE tenant_id = :tenant", mac=row["mac"], tenant=other.id
    )
    (broken,) = (await checks.verify_chains(house)).broken
    assert (broken.chain, broken.fault and broken.fault.seq) == (tenant_chain(other.id), 1)


# --- checkpoints


async def _latest(house: House) -> checkpoints.Latest:
    return await checks.latest_checkpoint(house.store, house.chain)


async def _one_action(house: House) -> None:
    async with house.control_tx() as tx:
        await audit.record_action(tx, OPERATOR, Action("x"), signer=house.chain)


async def test_the_newest_checkpoint_is_found_over_days(house: House, clock: ManualClock) -> None:
    for expected in (1, 2, 3):
        await _one_action(house)
        assert await checkpoint_audit.tick(house) == 1
        latest = (await _latest(house)).checkpoint
        assert latest is not None
        assert [pin.seq for pin in latest.heads.values()] == [expected]
        clock.advance(3600 * 24 * 20)
    assert len(await house.store.list_names(checkpoints.FOLDER)) == 3


async def test_nothing_new_is_not_written_again(house: House) -> None:
    assert await checkpoint_audit.tick(house) == 0
    await _one_action(house)
    assert [await checkpoint_audit.tick(house) for _ in range(3)] == [1, 0, 0]


Forge = Callable[[House, Any], Awaitable[bytes]]


async def _garbage(house: House, _latest: Any) -> bytes:
    return b"[" * 100_000


async def _signed_by_another(house: House, latest: Any) -> bytes:
    return bytes(latest.to_bytes(ChainSigner(Secret("another key, just as long as ours"))))


async def _an_old_one(house: House, latest: Any) -> bytes:
    return bytes(latest.to_bytes(house.chain))


@pytest.mark.parametrize("forge", [_garbage, _signed_by_another, _an_old_one])
async def test_a_forged_checkpoint_is_reported_and_not_believed(house: House, clock: ManualClock, forge: Forge) -> None:
    await _one_action(house)
    await checkpoint_audit.tick(house)
    before = (await _latest(house)).checkpoint
    forged = object_key(checkpoints.FOLDER, "9999-12-31", "ffffffff-ffff-7fff-bfff-ffffffffffff.json")
    await house.store.write(forged, await forge(house, before), media_type="application/json")
    assert await _latest(house) == checkpoints.Latest(before, [forged])
    assert (await checks.verify_chains(house)).damaged_checkpoints == [forged]
    await _one_action(house)
    assert await checkpoint_audit.tick(house) == 1


async def test_with_no_checkpoint_to_trust_none_is_begun_anew(house: House) -> None:
    await _one_action(house)
    forged = object_key(checkpoints.FOLDER, "2026-01-01", "ffffffff-ffff-7fff-bfff-ffffffffffff.json")
    await house.store.write(forged, b"{}", media_type="application/json")
    with pytest.raises(checkpoints.NoTrustedCheckpoint):
        await checkpoint_audit.tick(house)


# ── alarms ──────────────────────────────────────────────────────────────────────────────────


async def alarms_of(chain: Chain) -> list[audit.Alarm]:
    async with chain.house.control_tx(read_only=True) as tx:
        return await audit.open_alarms(tx)


async def acknowledge_all(chain: Chain) -> None:
    for each in await alarms_of(chain):
        async with chain.house.control_tx() as tx:
            await audit.acknowledge_alarm(tx, each.id, by="op@example.com")


async def test_a_database_that_was_rolled_back_raises_one_alarm_and_is_watched_again_after_it(chain: Chain) -> None:
    """As an older copy that was restored: its rows and its head fit each other, and the newest checkpoint not."""
    await checkpoint_audit.tick(chain.house)
    assert await alarms_of(chain) == []
    for kept in (6, 5):
        await chain.cut_after(kept, with_head=True)
        for _ in range(2):
            await checkpoint_audit.tick(chain.house)
        [alarm] = await alarms_of(chain)
        assert (alarm.chain, alarm.pool) == (chain.name, "main" if chain.tenant else "")
        assert "older copy was restored" in alarm.problem
        await acknowledge_all(chain)
        await checkpoint_audit.tick(chain.house)
        assert await alarms_of(chain) == []
        assert await chain.fault() is None, "from here on, what it holds now is remembered"


async def test_a_last_row_that_is_gone_raises_one_alarm_though_its_head_stands(chain: Chain) -> None:
    """Nothing seems to have moved: only the row itself tells."""
    await checkpoint_audit.tick(chain.house)
    await chain.cut_after(ROWS - 1, with_head=False)
    for _ in range(2):
        await checkpoint_audit.tick(chain.house)
    [alarm] = await alarms_of(chain)
    assert (alarm.chain, alarm.seq) == (chain.name, ROWS)
    await acknowledge_all(chain)
    await checkpoint_audit.tick(chain.house)
    assert await alarms_of(chain) == []


async def test_a_changed_row_raises_an_alarm_once_also_after_it_was_acknowledged(chain: Chain) -> None:
    assert await verify_audit.tick(chain.house) == 0
    await chain.attacker.run(f"UPDATE {chain.log} SET detail = '{{}}' WHERE seq = 4")
    assert [await verify_audit.tick(chain.house) for _ in range(2)] == [1, 0]
    [alarm] = await alarms_of(chain)
    assert (alarm.chain, alarm.seq) == (chain.name, 4)
    await acknowledge_all(chain)
    assert await verify_audit.tick(chain.house) == 0
    await chain.attacker.run(f"UPDATE {chain.log} SET detail = '{{}}' WHERE seq = 2")
    assert await verify_audit.tick(chain.house) == 1, "another row is another alarm"
