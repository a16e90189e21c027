"""Credit a wallet: the one story behind the operator's route and the shop's webhook."""

from typing import Annotated

from pydantic import Field

from comfyfleet import audit, ledger
from comfyfleet.api.views import CreditView, TransactionView
from comfyfleet.audit import Actor
from comfyfleet.house import House
from comfyfleet.kernel.ids import UserId
from comfyfleet.ledger import Tokens
from comfyfleet.metrics.facts import TokensMoved
from comfyfleet.tenants import Tenant

ProviderId = Annotated[str, Field(min_length=1, max_length=255, description="Idempotency key of the payment.")]


async def credit(
    house: House, tenant: Tenant, user_id: UserId, amount: int, provider_transaction_id: str, *, actor: Actor
) -> CreditView:
    async with house.control_tx(read_only=True) as central:
        await audit.require_no_alarm(central)
    async with house.tenant_tx(tenant) as tx:
        receipt = await ledger.credit_on_record(
            tx,
            user_id,
            Tokens(amount),
            provider_transaction_id=provider_transaction_id,
            actor=actor,
            signer=house.chain,
        )
        wallet = await ledger.get_wallet(tx, user_id)
    if not receipt.replayed:
        house.facts.note(TokensMoved("credit", amount))
    house.live.credited(user_id)
    transaction = TransactionView.model_validate(receipt.transaction)
    return CreditView(transaction=transaction, balance=wallet.balance, replayed=receipt.replayed)
