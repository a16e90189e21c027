"""Answers that more than one router gives. Only the shapes are shared: no route, no credential."""

from datetime import datetime

from comfyfleet.api.bodies import View
from comfyfleet.kernel.ids import JobId, TransactionId, UserId
from comfyfleet.ledger import TransactionType
from comfyfleet.tenants import Role
from comfyfleet.tenants.lifecycle import UserStatus


class UserView(View):
    id: UserId
    email: str
    role: Role
    status: UserStatus
    created_at: datetime


class UserPage(View):
    users: list[UserView]
    next_cursor: str | None


class InviteView(View):
    """`link`: where no mail could be sent, the one-time link, for you to hand on."""

    user: UserView
    link: str | None


class TransactionView(View):
    id: TransactionId
    type: TransactionType
    amount: int
    job_id: JobId | None
    provider_transaction_id: str | None
    created_at: datetime


class CreditView(View):
    """`replayed`: this payment had been credited before, and nothing moved this time."""

    transaction: TransactionView
    balance: int
    replayed: bool
