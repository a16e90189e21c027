"""The token ledger of one tenant: credit, reserve, then exactly one of consume and refund."""

from comfyfleet.ledger.credit import credit_on_record, credit_wallet
from comfyfleet.ledger.model import Entry, EntryState, Receipt, Tokens, Transaction, TransactionType, Wallet
from comfyfleet.ledger.read import get_wallet, list_entries, list_transactions
from comfyfleet.ledger.reserve import hold_wallet, reserve_each, reserve_tokens
from comfyfleet.ledger.settle import consume_tokens, refund_tokens

__all__ = [
    "Entry",
    "EntryState",
    "Receipt",
    "Tokens",
    "Transaction",
    "TransactionType",
    "Wallet",
    "consume_tokens",
    "credit_on_record",
    "credit_wallet",
    "get_wallet",
    "hold_wallet",
    "list_entries",
    "list_transactions",
    "refund_tokens",
    "reserve_each",
    "reserve_tokens",
]
