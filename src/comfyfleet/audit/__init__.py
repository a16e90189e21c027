"""The audit log: what operators did, chained so that a change shows; and what workers did."""

from comfyfleet.audit.alarms import (
    Alarm,
    FoundFault,
    acknowledge_alarm,
    acknowledged_alarms,
    open_alarms,
    raise_alarms,
    require_no_alarm,
)
from comfyfleet.audit.model import (
    Action,
    Actor,
    ActorKind,
    ChainSigner,
    Entry,
    RecordedEvent,
    WorkerEvent,
    WorkerEventName,
)
from comfyfleet.audit.read import (
    actions_since,
    list_actions,
    list_tenant_actions,
    list_worker_events,
    recent_block_events,
)
from comfyfleet.audit.record import record_action, record_tenant_action, record_worker_events

__all__ = [
    "Action",
    "Actor",
    "ActorKind",
    "Alarm",
    "ChainSigner",
    "Entry",
    "FoundFault",
    "RecordedEvent",
    "WorkerEvent",
    "WorkerEventName",
    "acknowledge_alarm",
    "acknowledged_alarms",
    "actions_since",
    "list_actions",
    "list_tenant_actions",
    "list_worker_events",
    "open_alarms",
    "raise_alarms",
    "recent_block_events",
    "record_action",
    "record_tenant_action",
    "record_worker_events",
    "require_no_alarm",
]
