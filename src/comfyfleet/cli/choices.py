"""What an option may be, spelt out: an enumeration would load its slice, and the database with it, for a help text.

A test compares each with its enumeration.
"""

from enum import StrEnum
from typing import Literal

RoleChoice = Literal["member", "admin", "operator"]
WorkerStatusChoice = Literal["pending", "approved", "draining", "revoked", "gone"]
DispatchStatusChoice = Literal["queued", "leased", "completed", "failed", "cancelled", "delayed"]
ProviderChoice = Literal["self_hosted", "cloud"]
AlertStateChoice = Literal["pending", "firing", "resolved"]
ChannelKindChoice = Literal["webhook", "mail"]
CREDITS_COST_MAX = 10**12


class ScopeChoice(StrEnum):
    """Typer knows no list of literals."""

    READ = "read"
    WRITE = "write"
    MANAGE = "manage"
    OPERATE = "operate"
