"""Identities. Every id is a UUIDv7: unique without coordination, sortable by age."""

from typing import NewType
from uuid import UUID

import uuid_utils.compat

TenantId = NewType("TenantId", UUID)
UserId = NewType("UserId", UUID)
KeyId = NewType("KeyId", UUID)
SessionId = NewType("SessionId", UUID)
LinkId = NewType("LinkId", UUID)
WalletId = NewType("WalletId", UUID)
TransactionId = NewType("TransactionId", UUID)
JobId = NewType("JobId", UUID)
FileId = NewType("FileId", UUID)


def new_id() -> UUID:
    return uuid_utils.compat.uuid7()
