"""The leased queue. It hands each dispatch to one holder at a time, and knows neither jobs nor money."""

from comfyfleet.dispatch.cancel import cancel_dispatch
from comfyfleet.dispatch.enqueue import enqueue_dispatches
from comfyfleet.dispatch.expire import expire_leases, fail_overdue, promote_delayed
from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.finish import Report, complete_dispatches, fail_dispatch
from comfyfleet.dispatch.floors import Floors
from comfyfleet.dispatch.heartbeat import Beat, Extended, extend_leases
from comfyfleet.dispatch.lanes import LaneBook
from comfyfleet.dispatch.lease import Leased, Leasing, count_heads, lease_dispatches
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.dispatch.model import (
    Ask,
    Dispatch,
    Ended,
    Grant,
    Holder,
    Lane,
    LeaseProof,
    NewDispatch,
    Place,
    Provider,
    QueueRules,
)
from comfyfleet.dispatch.rebind import HeldLease, read_leases, rebind_leases
from comfyfleet.dispatch.requeue import requeue_dispatch
from comfyfleet.dispatch.tokens import LeaseSigner

__all__ = [
    "Ask",
    "Beat",
    "Dispatch",
    "DispatchStatus",
    "Ended",
    "Extended",
    "FailureClass",
    "Floors",
    "Grant",
    "HeldLease",
    "Holder",
    "Lane",
    "LaneBook",
    "LeaseProof",
    "LeaseSigner",
    "Leased",
    "Leasing",
    "NewDispatch",
    "Place",
    "Provider",
    "QueueRules",
    "Report",
    "cancel_dispatch",
    "complete_dispatches",
    "count_heads",
    "enqueue_dispatches",
    "expire_leases",
    "extend_leases",
    "fail_dispatch",
    "fail_overdue",
    "lease_dispatches",
    "promote_delayed",
    "read_leases",
    "rebind_leases",
    "requeue_dispatch",
]
