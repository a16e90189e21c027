"""Databases: engines, transactions, types, the schema and its migrations. Knows no slice."""

from comfyfleet.db.engine import Database, open_database
from comfyfleet.db.transaction import ControlTx, PoolTx, TenantTx, UnscopedStatement

__all__ = ["ControlTx", "Database", "PoolTx", "TenantTx", "UnscopedStatement", "open_database"]
