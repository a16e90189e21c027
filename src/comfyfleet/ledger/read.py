"""Look into a wallet."""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.ledger import sql
from comfyfleet.ledger.model import Tokens, Transaction, Wallet


async def get_wallet(tx: TenantTx, user_id: UserId) -> Wallet:
    """A wallet that was never used is an empty one."""
    row = await tx.maybe(sql.wallet_of(), user_id=user_id)
    return Wallet(user_id, Tokens(row.balance if row is not None else 0))


async def list_transactions(tx: TenantTx, user_id: UserId, request: PageRequest) -> Page[Transaction]:
    """Newest first."""
    rows = await tx.all(sql.transaction_page(user_id, after=request.after, rows=request.rows))
    return Page.cut([Transaction.from_row(row) for row in rows], [row.id for row in rows], request)
