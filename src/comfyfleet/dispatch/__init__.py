"""The leased queue. It hands each dispatch to one holder at a time, and knows neither jobs nor money."""

from comfyfleet.dispatch.blocks import clear_block, forget_workerless_blocks
from comfyfleet.dispatch.cancel import cancel_dispatch
from comfyfleet.dispatch.enqueue import enqueue_dispatches
from comfyfleet.dispatch.everywhere import may_fail_everywhere
from comfyfleet.dispatch.expire import expire_leases, fail_overdue, promote_delayed
from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.finish import (
    Report,
    complete_dispatches,
    fail_dispatch,
    find_dispatch,
    find_dispatches,
    find_started,
    require_dispatch,
)
from comfyfleet.dispatch.floors import Floors
from comfyfleet.dispatch.heartbeat import Beat, Extended, extend_leases
from comfyfleet.dispatch.lanes import LaneBook
from comfyfleet.dispatch.lease import Leased, Leasing, count_heads, lease_dispatches, read_payloads
from comfyfleet.dispatch.lifecycle import NOT_BEGUN, DispatchStatus
from comfyfleet.dispatch.listing import (
    Attempt,
    DispatchDetail,
    DispatchFilter,
    ListedBlock,
    ListedDispatch,
    attempts_of_worker,
    get_dispatch,
    list_blocks,
    list_dispatches,
    read_result,
)
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
    Started,
)
from comfyfleet.dispatch.priority import set_priority
from comfyfleet.dispatch.rebind import (
    HeldLease,
    count_leases,
    proves_a_lease,
    read_leases,
    rebind_leases,
    unwanted_leases,
    workers_with_leases,
)
from comfyfleet.dispatch.requeue import requeue_dispatch
from comfyfleet.dispatch.return_leases import return_leases
from comfyfleet.dispatch.tokens import LeaseSigner

__all__ = [
    "NOT_BEGUN",
    "Ask",
    "Attempt",
    "Beat",
    "Dispatch",
    "DispatchDetail",
    "DispatchFilter",
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
    "ListedBlock",
    "ListedDispatch",
    "NewDispatch",
    "Place",
    "Provider",
    "QueueRules",
    "Report",
    "Started",
    "attempts_of_worker",
    "cancel_dispatch",
    "clear_block",
    "complete_dispatches",
    "count_heads",
    "count_leases",
    "enqueue_dispatches",
    "expire_leases",
    "extend_leases",
    "fail_dispatch",
    "fail_overdue",
    "find_dispatch",
    "find_dispatches",
    "find_started",
    "forget_workerless_blocks",
    "get_dispatch",
    "lease_dispatches",
    "list_blocks",
    "list_dispatches",
    "may_fail_everywhere",
    "promote_delayed",
    "proves_a_lease",
    "read_leases",
    "read_payloads",
    "read_result",
    "rebind_leases",
    "requeue_dispatch",
    "require_dispatch",
    "return_leases",
    "set_priority",
    "unwanted_leases",
    "workers_with_leases",
]
