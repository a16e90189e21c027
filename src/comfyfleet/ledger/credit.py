"""Tokens come in: a payment, or an operator's gift."""

from comfyfleet.audit import Action, Actor, ChainSigner, record_tenant_action
from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import BalanceLimit, DuplicateKey, InvalidInput
from comfyfleet.kernel.ids import UserId
from comfyfleet.ledger import sql
from comfyfleet.ledger.model import BALANCE_MAX, CREDIT_MAX, Receipt, Tokens, Transaction, TransactionType

PROVIDER_ID_CHARS_MAX = 255


async def credit_wallet(tx: TenantTx, user_id: UserId, amount: Tokens, *, provider_transaction_id: str) -> Receipt:
    """Once per `provider_transaction_id`: a shop that sends its message twice tops the wallet up once."""
    if not 1 <= amount <= CREDIT_MAX:
        raise InvalidInput("amount", f"must be from 1 to {CREDIT_MAX}")
    if not 0 < len(provider_transaction_id) <= PROVIDER_ID_CHARS_MAX:
        raise InvalidInput("provider_transaction_id", f"must have 1 to {PROVIDER_ID_CHARS_MAX} characters")
    await tx.maybe(sql.insert_wallet(user_id))
    wallet = await tx.one(sql.wallet_of(), user_id=user_id)
    row = await tx.maybe(sql.insert_credit(wallet.id, amount=amount, provider_transaction_id=provider_transaction_id))
    if row is None:
        first = Transaction.from_row(await tx.one(sql.credit_by_provider(provider_transaction_id)))
        if (first.wallet_id, first.amount) != (wallet.id, amount):
            raise DuplicateKey(provider_transaction_id)
        return Receipt(first, replayed=True)
    moved = await tx.maybe(sql.move_balance(balance_max=BALANCE_MAX), wallet_id=wallet.id, amount=amount)
    if moved is None:
        raise BalanceLimit(balance_max=BALANCE_MAX)
    return Receipt(Transaction.from_row(row), replayed=False)


async def credit_on_record(
    tx: TenantTx,
    user_id: UserId,
    amount: Tokens,
    *,
    provider_transaction_id: str,
    actor: Actor,
    signer: ChainSigner,
) -> Receipt:
    """As every edge does it: a credit that moves tokens stands in the tenant's audit chain, or does not happen."""
    receipt = await credit_wallet(tx, user_id, amount, provider_transaction_id=provider_transaction_id)
    if not receipt.replayed:
        detail = {"amount": amount, "provider_transaction_id": provider_transaction_id, "user_id": user_id}
        action = Action(TransactionType.PAYMENT_CREDIT, str(receipt.transaction.id), detail)
        await record_tenant_action(tx, actor, action, signer=signer)
    return receipt
