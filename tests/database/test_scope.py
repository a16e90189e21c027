"""A TenantTx runs no statement that could reach another tenant's rows."""

from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db import UnscopedStatement
from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import TENANT
from comfyfleet.db.tables import token_transactions as t
from comfyfleet.db.tables import token_wallets as w
from comfyfleet.house import House
from comfyfleet.kernel.ids import TenantId, new_id
from tests.builders import a_member, balance

other = w.alias("other")
mine = w.c.tenant_id == BOUND_TENANT
inner = sa.select(w.c.id)

REFUSED: dict[str, Any] = {
    "select": sa.select(w.c.balance),
    "select one column": sa.select(w.c.balance).where(w.c.user_id == uuid4()),
    "another tenant by value": sa.select(w.c.balance).where(w.c.tenant_id == uuid4()),
    "another bind of that name": sa.select(w.c.balance).where(w.c.tenant_id == sa.bindparam("tenant_id", uuid4())),
    "not equal": sa.select(w.c.balance).where(w.c.tenant_id != BOUND_TENANT),
    "or": sa.select(w.c.balance).where(sa.or_(mine, w.c.balance > 0)),
    "not": sa.select(w.c.balance).where(sa.not_(mine)),
    "join, one side only": sa.select(t.c.amount).join(w, w.c.id == t.c.wallet_id).where(mine),
    "outer join's condition": sa.select(t.c.amount).outerjoin(w, mine).where(t.c.tenant_id == BOUND_TENANT),
    "alias": sa.select(other.c.balance).where(mine),
    "cross join by column": sa.select(w.c.balance, other.c.balance).where(mine),
    "subquery": sa.select(w.c.balance).where(mine, w.c.id.in_(inner)),
    "scalar subquery": sa.select(w.c.balance, inner.limit(1).scalar_subquery()).where(mine),
    "from a subquery": sa.select(inner.subquery().c.id),
    "cte": sa.select(inner.cte().c.id),
    "exists": sa.select(w.c.balance).where(mine, sa.exists(sa.select(t.c.id))),
    "union": sa.union_all(inner.where(mine), inner),
    "update": sa.update(w).values(balance=10**6),
    "update from another": sa.update(w).where(mine, t.c.wallet_id == w.c.id).values(balance=1),
    "update by another's value": sa.update(w).where(mine).values(balance=t.c.amount),
    "update by a subquery": sa.update(w)
    .where(mine)
    .values(balance=sa.select(sa.func.sum(t.c.amount)).scalar_subquery()),
    "delete": sa.delete(w),
    "insert without": sa.insert(w).values(id=uuid4(), user_id=uuid4(), balance=1),
    "insert for another": sa.insert(w).values(id=uuid4(), tenant_id=uuid4(), user_id=uuid4(), balance=1),
    "insert many": sa.insert(w).values([{"id": uuid4(), "tenant_id": uuid4()}]),
    "insert from another's rows": insert_once(w).from_select(
        ["id", "tenant_id"], sa.select(t.c.id, BOUND_TENANT.label("tenant_id"))
    ),
    "insert another's tenant": insert_once(w).from_select(
        ["id", "tenant_id"], sa.select(t.c.id, t.c.wallet_id).where(t.c.tenant_id == BOUND_TENANT)
    ),
    "insert for all of a union": insert_once(w).from_select(
        ["id", "tenant_id"],
        sa.union_all(
            sa.select(t.c.id, BOUND_TENANT.label("tenant_id")).where(t.c.tenant_id == BOUND_TENANT),
            sa.select(t.c.id, t.c.wallet_id).where(t.c.tenant_id == BOUND_TENANT),
        ),
    ),
    "upsert over another's row": postgresql.insert(w)
    .values(id=uuid4(), tenant_id=BOUND_TENANT, user_id=uuid4(), balance=1)
    .on_conflict_do_update(index_elements=[w.c.id], set_={"balance": 999}),
    "give a row away": sa.update(w).where(mine).values(tenant_id=uuid4()),
    "raw": sa.text("SELECT * FROM token_wallets"),
    "raw in a column": sa.select(sa.text("(SELECT SUM(balance) FROM token_wallets)")),
    "raw in a literal column": sa.select(sa.literal_column("(SELECT SUM(balance) FROM token_wallets)")).where(mine),
    "raw in a function": sa.select(sa.func.coalesce(sa.text("(SELECT SUM(balance) FROM token_wallets)"), 0)),
    "raw in the condition": sa.select(w.c.balance).where(mine, sa.text("1 = 0 OR 1 = 1")),
    "raw before": sa.select(w.c.balance).where(mine).prefix_with(sa.text("DISTINCT")),
    "raw behind": sa.select(w.c.balance).where(mine).suffix_with("UNION ALL SELECT balance FROM token_wallets"),
    "raw hint": sa.select(w.c.balance).where(mine).with_statement_hint("UNION ALL SELECT balance FROM token_wallets"),
    "text table": sa.select(sa.text("balance")).select_from(sa.text("token_wallets")),
}


@pytest.fixture
def engine() -> str:
    return "sqlite"  # refused before any database is asked, so one is enough


@pytest.mark.parametrize("name", REFUSED)
async def test_a_statement_without_the_tenant_condition_is_refused(house: House, name: str) -> None:
    member = await a_member(house, tokens=5)
    with pytest.raises(UnscopedStatement):
        async with house.tenant_tx(member.tenant) as tx:
            await tx.run(REFUSED[name])
    assert await balance(house, member.tenant, member.user) == 5


ALLOWED: dict[str, Any] = {
    "select": sa.select(w.c.balance).where(mine),
    "join": sa.select(w.c.balance).join(t, sa.and_(t.c.tenant_id == BOUND_TENANT, t.c.wallet_id == w.c.id)).where(mine),
    "alias": sa.select(other.c.balance).where(other.c.tenant_id == BOUND_TENANT),
    "subquery": sa.select(w.c.balance).where(mine, w.c.id.in_(inner.where(mine))),
    "cte": sa.select(inner.where(mine).cte().c.id),
}


@pytest.mark.parametrize("name", ALLOWED)
async def test_a_statement_with_it_sees_this_tenants_rows_only(house: House, name: str) -> None:
    await a_member(house, tokens=7)
    member = await a_member(house, tokens=5)
    for _ in range(2):  # the second time the shape is known
        async with house.tenant_tx(member.tenant) as tx:
            assert len(await tx.all(ALLOWED[name])) == 1


async def test_a_statement_for_many_rows_is_checked_too_and_no_row_can_name_another_tenant(house: House) -> None:
    tenant, foreign = TenantId(new_id()), TenantId(new_id())
    given = {name: sa.bindparam(name, type_=w.c[name].type) for name in ("id", "user_id")}
    unscoped = sa.insert(w).values(tenant_id=foreign, balance=0, created_at=now(), **given)
    scoped = sa.insert(w).values(tenant_id=BOUND_TENANT, balance=0, created_at=now(), **given)
    row = {"id": new_id(), "user_id": new_id(), BOUND_TENANT.key: foreign, "tenant_id": foreign}
    async with house.pools["main"].tenant_tx(tenant) as tx:
        for each in (tx.all_each, tx.run_each):
            with pytest.raises(UnscopedStatement):
                await each(unscoped, [row])
        await tx.run_each(scoped, [row])
    async with house.pools["main"].engine.connect() as connection:
        assert (await connection.execute(sa.select(w.c.tenant_id))).scalar_one() == tenant


def test_every_table_of_a_pool_has_a_tenant() -> None:
    for table in TENANT.tables.values():
        assert not table.c.tenant_id.nullable, table.name
