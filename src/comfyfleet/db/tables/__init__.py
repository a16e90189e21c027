"""The schema: one file per slice, two databases."""

from comfyfleet.db.tables.base import CENTRAL, TENANT
from comfyfleet.db.tables.ledger import token_transactions, token_wallets
from comfyfleet.db.tables.storage import files
from comfyfleet.db.tables.tenants import api_keys, one_time_links, tenants, users, web_sessions

__all__ = [
    "CENTRAL",
    "TENANT",
    "api_keys",
    "files",
    "one_time_links",
    "tenants",
    "token_transactions",
    "token_wallets",
    "users",
    "web_sessions",
]
