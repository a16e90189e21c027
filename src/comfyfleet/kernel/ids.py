"""Identities. Every id is a UUIDv7: unique without coordination, sortable by age."""

from datetime import datetime
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
VideoId = NewType("VideoId", UUID)
DispatchId = NewType("DispatchId", UUID)  # the same UUID as its job's
WorkflowId = NewType("WorkflowId", UUID)
EffectId = NewType("EffectId", UUID)
WorkerId = NewType("WorkerId", UUID)
FleetId = NewType("FleetId", UUID)
EndpointId = NewType("EndpointId", UUID)
WebhookEventId = NewType("WebhookEventId", UUID)
DeliveryId = NewType("DeliveryId", UUID)
SettlementId = NewType("SettlementId", UUID)
AlertId = NewType("AlertId", UUID)
ChannelId = NewType("ChannelId", UUID)
NotificationId = NewType("NotificationId", UUID)
PipelineId = NewType("PipelineId", UUID)
RunId = NewType("RunId", UUID)
CandidateId = NewType("CandidateId", UUID)
VoteId = NewType("VoteId", UUID)
LaneId = NewType("LaneId", int)


def new_id() -> UUID:
    return uuid_utils.compat.uuid7()


def id_at(at: datetime) -> UUID:
    """As if it had been made then: for names that must sort by the database's clock, not by this machine's."""
    return uuid_utils.compat.uuid7(nanoseconds=int(at.timestamp() * 1_000_000) * 1_000)


def time_of(made: UUID) -> float:
    """When an id of ours was made, in seconds since 1970, by the clock of who made it."""
    return (made.int >> 80) / 1000
