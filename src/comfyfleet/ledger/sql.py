"""Statements over wallets and transactions. Every write of the ledger is one of these."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.direct import built_once
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import token_transactions, token_wallets
from comfyfleet.kernel.ids import JobId, UserId, WalletId, new_id
from comfyfleet.ledger.model import TransactionType

t, w = token_transactions, token_wallets


def insert_wallet(user_id: UserId) -> sa.Insert:
    return (
        insert_once(w)
        .values(id=new_id(), tenant_id=BOUND_TENANT, user_id=user_id, balance=0, created_at=now())
        .returning(*w.c)
    )


@built_once
def wallet_of() -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.tenant_id == BOUND_TENANT, w.c.user_id == sa.bindparam("user_id"))


@built_once
def hold_wallet() -> sa.Select[Any]:
    """Not its key, which every transaction that is written points to: two who have each written one, and then hold
    it, would wait for each other."""
    return wallet_of().with_for_update(key_share=True)


@built_once
def move_balance(*, balance_max: int) -> sa.Update:
    """Only if the balance stays within its bounds: this guard is what forbids an overdraft."""
    amount = sa.bindparam("amount", type_=sa.BigInteger())
    return (
        sa.update(w)
        .where(
            w.c.tenant_id == BOUND_TENANT,
            w.c.id == sa.bindparam("wallet_id"),
            w.c.balance >= -amount,
            w.c.balance <= balance_max - amount,
        )
        .values(balance=w.c.balance + amount)
        .returning(w.c.balance)
    )


@built_once
def spend() -> sa.Update:
    """As `move_balance` away from it, by whose wallet it is: a job's payment needs not look for it first."""
    amount = sa.bindparam("amount", type_=sa.BigInteger())
    return (
        sa.update(w)
        .where(w.c.tenant_id == BOUND_TENANT, w.c.user_id == sa.bindparam("of_user_id"), w.c.balance >= amount)
        .values(balance=w.c.balance - amount)
        .returning(w.c.id)
    )


def insert_credit(wallet_id: WalletId, *, amount: int, provider_transaction_id: str) -> sa.Insert:
    return (
        insert_once(t)
        .values(
            id=new_id(),
            tenant_id=BOUND_TENANT,
            wallet_id=wallet_id,
            type=TransactionType.PAYMENT_CREDIT,
            amount=amount,
            provider_transaction_id=provider_transaction_id,
            created_at=now(),
        )
        .returning(*t.c)
    )


def insert_reserve(wallet_id: WalletId, *, amount: int, job_id: JobId) -> sa.Insert:
    return (
        insert_once(t)
        .values(
            id=new_id(),
            tenant_id=BOUND_TENANT,
            wallet_id=wallet_id,
            type=TransactionType.JOB_RESERVE,
            amount=-amount,
            job_id=job_id,
            created_at=now(),
        )
        .returning(*t.c)
    )


@built_once
def insert_reserves() -> sa.Insert:
    """For many at once, each with its id, wallet, job and amount."""
    given = {name: sa.bindparam(name, type_=t.c[name].type) for name in ("id", "wallet_id", "job_id", "amount")}
    return (
        insert_once(t)
        .values(tenant_id=BOUND_TENANT, type=TransactionType.JOB_RESERVE, created_at=now(), **given)
        .returning(t.c.job_id)
    )


@built_once
def insert_end(ending: TransactionType) -> sa.Insert:
    """Consume (0) or refund (all of it). The amount and the wallet are the reservation's own."""
    amount = -t.c.amount if ending is TransactionType.JOB_REFUND else sa.literal(0, sa.BigInteger())
    reservation = sa.select(
        sa.bindparam("end_id", type_=sa.Uuid()),
        BOUND_TENANT.label("tenant_id"),
        t.c.wallet_id,
        sa.literal(ending, sa.Text()),
        amount,
        t.c.job_id,
        now(),
    ).where(
        t.c.tenant_id == BOUND_TENANT,
        t.c.job_id == sa.bindparam("of_job_id", type_=sa.Uuid()),
        t.c.type == TransactionType.JOB_RESERVE,
    )
    columns = ["id", "tenant_id", "wallet_id", "type", "amount", "job_id", "created_at"]
    return insert_once(t).from_select(columns, reservation).returning(*t.c)


def transactions_of_job(job_id: JobId) -> sa.Select[Any]:
    return sa.select(*t.c).where(t.c.tenant_id == BOUND_TENANT, t.c.job_id == job_id)


def credit_by_provider(provider_transaction_id: str) -> sa.Select[Any]:
    return sa.select(*t.c).where(t.c.tenant_id == BOUND_TENANT, t.c.provider_transaction_id == provider_transaction_id)


def transaction_page(user_id: UserId, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = (
        sa.select(*t.c)
        .join(w, sa.and_(w.c.tenant_id == BOUND_TENANT, w.c.id == t.c.wallet_id))
        .where(t.c.tenant_id == BOUND_TENANT, w.c.user_id == user_id)
        .order_by(t.c.id.desc())
        .limit(rows + 1)
    )
    return page.where(t.c.id < after) if after else page


BEGINNINGS = (TransactionType.PAYMENT_CREDIT, TransactionType.JOB_RESERVE)
ENDINGS = (TransactionType.JOB_CONSUME, TransactionType.JOB_REFUND)


def entry_page(user_id: UserId, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    """Payments and reservations, each with its end. `newer`: what the rows before this page change the balance by; in
    one statement with the balance, so that both are of one instant."""
    begin, end = t.alias("begin"), _endings()
    page = (
        sa.select(
            *begin.c,
            end.c.type.label("end_type"),
            end.c.amount.label("end_amount"),
            end.c.created_at.label("ended_at"),
            w.c.balance,
            (_newer(after) if after else sa.literal(0, sa.BigInteger())).label("newer"),
        )
        .join(w, w.c.id == begin.c.wallet_id)
        .outerjoin(end, _ends(begin, end))
        .where(
            begin.c.tenant_id == BOUND_TENANT,
            w.c.tenant_id == BOUND_TENANT,
            w.c.user_id == user_id,
            begin.c.type.in_(BEGINNINGS),
        )
        .order_by(begin.c.id.desc())
        .limit(rows + 1)
    )
    return page.where(begin.c.id < after) if after else page


def _newer(after: UUID) -> sa.ScalarSelect[Any]:
    begin, end = t.alias("newer_begin"), _endings()
    amount = sa.func.sum(begin.c.amount + sa.func.coalesce(end.c.amount, 0))
    return (
        sa.select(sa.cast(sa.func.coalesce(amount, 0), sa.BigInteger()))
        .select_from(begin.outerjoin(end, _ends(begin, end)))
        .where(
            begin.c.tenant_id == BOUND_TENANT,
            w.c.tenant_id == BOUND_TENANT,
            begin.c.wallet_id == w.c.id,
            begin.c.type.in_(BEGINNINGS),
            begin.c.id >= after,
        )
        .correlate(w)
        .scalar_subquery()
    )


def _endings() -> sa.Subquery:
    found = sa.select(t.c.job_id, t.c.type, t.c.amount, t.c.created_at)
    return found.where(t.c.tenant_id == BOUND_TENANT, t.c.type.in_(ENDINGS)).subquery()


def _ends(begin: Any, end: Any) -> sa.ColumnElement[bool]:
    return sa.and_(end.c.job_id == begin.c.job_id, begin.c.type == TransactionType.JOB_RESERVE)
