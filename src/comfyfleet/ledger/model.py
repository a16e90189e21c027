"""Tokens: one wallet per (tenant, user), and a history that is only ever added to."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType, Self

from comfyfleet.kernel.ids import JobId, TransactionId, UserId, WalletId

Tokens = NewType("Tokens", int)

# Whole numbers up to here are exact in every JSON reader, JavaScript's included.
BALANCE_MAX = Tokens(2**53 - 1)
CREDIT_MAX = Tokens(10**12)
# A refund must never be refused, so it may go a little beyond: no more than was once within.
REFUNDED_BALANCE_MAX = Tokens(2 * BALANCE_MAX)


class TransactionType(StrEnum):
    PAYMENT_CREDIT = "PAYMENT_CREDIT"
    JOB_RESERVE = "JOB_RESERVE"
    JOB_CONSUME = "JOB_CONSUME"
    JOB_REFUND = "JOB_REFUND"


@dataclass(frozen=True, slots=True)
class Wallet:
    """The balance is the sum of the wallet's transactions; a reservation is already taken off."""

    user_id: UserId
    balance: Tokens


@dataclass(frozen=True, slots=True)
class Transaction:
    id: TransactionId
    wallet_id: WalletId
    type: TransactionType
    amount: Tokens
    job_id: JobId | None
    provider_transaction_id: str | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            wallet_id=row.wallet_id,
            type=TransactionType(row.type),
            amount=row.amount,
            job_id=row.job_id,
            provider_transaction_id=row.provider_transaction_id,
            created_at=row.created_at,
        )


class EntryState(StrEnum):
    """What became of the tokens of one row of the statement."""

    ADDED = "added"
    RESERVED = "reserved"
    SPENT = "spent"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class Entry:
    """One payment, or one job with its reservation and its end in one row.

    `price`: what was reserved. `amount`: what it changes the balance by, as things stand: a refunded job nothing.
    `balance_after`: the sum of this row and all older ones; the newest row's is the balance.
    """

    id: TransactionId
    state: EntryState
    amount: Tokens
    price: Tokens
    balance_after: Tokens
    job_id: JobId | None
    provider_transaction_id: str | None
    created_at: datetime
    ended_at: datetime | None


ENDED_AS = {
    None: EntryState.RESERVED,
    TransactionType.JOB_CONSUME: EntryState.SPENT,
    TransactionType.JOB_REFUND: EntryState.REFUNDED,
}


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a ledger verb did. `replayed`: it had been done before, and this time nothing moved."""

    transaction: Transaction
    replayed: bool
