"""Faults on purpose: for one prompt by `extra_data.comfyfleet_faults`, for routes and for the prompts to come by
POST /comfyfleet/faults. Our tests' far end misbehaves exactly as told, and only then."""

import errno
import os
import threading
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

EXTRA_DATA_KEY = "comfyfleet_faults"

RouteFaultKind = Literal["garbage", "html", "status", "slow", "hang", "endless", "drop"]


class PromptFaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node is named by its id; "*" is the first that runs. Messages of a prompt count from 1."""

    drop_socket_at: int | None = None  # the client's socket is cut when this message is due
    silence_socket_at: int | None = None  # from this message on nothing is said of the prompt; the socket stays open
    reorder_at: int | None = None  # this message comes after the next one
    delay_history_s: float = 0.0  # between the last message of success and the entry in history
    instant_cached: bool = False  # over before POST /prompt answers, and told as if everything came from the cache
    empty_outputs: bool = False  # success, and history names no file
    forget_history: bool = False  # success, and history knows nothing
    hang_at_node: str | None = None  # for ever; not even an interrupt ends it (clearing the faults does)
    die_at_node: str | None = None  # the process ends at once; only `comfyfleet engine` obeys
    out_of_memory_at_node: str | None = None
    cuda_error_at_node: str | None = None
    disk_full_at_node: str | None = None
    error_at_node: str | None = None
    huge_output_bytes: int = 0  # the first file made is blown up to this size (a hole, no disk is used)
    missing_output: bool = False  # files are named and not there
    slow_step_s: float = 0.0  # before each step, and before each node
    slow_post_s: float = 0.0  # before POST /prompt answers; the prompt is queued first
    drop_post: bool = False  # POST /prompt queues and never answers: the connection is cut

    def hits(self, fault: str, node_id: str) -> bool:
        return getattr(self, fault) in ("*", node_id)


NO_FAULTS = PromptFaults()


class RouteFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str  # the route begins so, with or without /api
    kind: RouteFaultKind
    method: str = "GET"
    times: int | None = None  # None: until cleared
    status: int = 500
    seconds: float = 1.0


class FaultOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /comfyfleet/faults; it replaces what was ordered before."""

    prompts: PromptFaults = NO_FAULTS
    prompts_times: int | None = None
    routes: tuple[RouteFault, ...] = ()


class FaultBoard:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._order = FaultOrder()
        self._used: dict[int, int] = {}
        self._prompts_used = 0
        self.released = threading.Event()  # lets go of whoever hangs

    def set(self, order: FaultOrder) -> None:
        with self._lock:
            self._order = order
            self._used.clear()
            self._prompts_used = 0
            self.released.set()
            self.released = threading.Event()

    @property
    def order(self) -> FaultOrder:
        return self._order

    def for_prompt(self, extra_data: Mapping[str, Any]) -> PromptFaults:
        """Raises msgspec.ValidationError for faults that do not exist: a test must not pass by a typo."""
        own = extra_data.get(EXTRA_DATA_KEY)
        if own is not None:
            return msgspec.convert(own, PromptFaults)
        with self._lock:
            times = self._order.prompts_times
            if times is not None and self._prompts_used >= times:
                return NO_FAULTS
            self._prompts_used += 1
            return self._order.prompts

    def for_route(self, method: str, path: str) -> RouteFault | None:
        path = path.removeprefix("/api") if path.startswith("/api/") else path
        with self._lock:
            for place, fault in enumerate(self._order.routes):
                used = self._used.get(place, 0)
                spent = fault.times is not None and used >= fault.times
                if not spent and fault.method == method and path.startswith(fault.path):
                    self._used[place] = used + 1
                    return fault
        return None


def _foreign(name: str, module: str) -> type[RuntimeError]:
    return type(name, (RuntimeError,), {"__module__": module})


OutOfMemory = _foreign("OutOfMemoryError", "torch")
AcceleratorError = _foreign("AcceleratorError", "torch")

OUT_OF_MEMORY_TIPS = (
    "This error means you ran out of memory on your GPU.\n\nTIPS: If the workflow worked before you might have "
    "accidentally set the batch_size to a large number."
)


def raise_ordered(faults: PromptFaults, node_id: str) -> None:
    """The error that was ordered for this node, as torch would word it."""
    if faults.hits("out_of_memory_at_node", node_id):
        raise OutOfMemory(
            "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 22.10 GiB"
            "\nRequested               : 4.50 GiB\nDevice limit            : 23.55 GiB"
            "\nFree (according to CUDA): 17.25 MiB"
        )
    if faults.hits("cuda_error_at_node", node_id):
        raise AcceleratorError(
            "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported "
            "at some other API call, so the stacktrace below might be incorrect."
        )
    if faults.hits("disk_full_at_node", node_id):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if faults.hits("error_at_node", node_id):
        raise RuntimeError(
            "The size of tensor a (77) must match the size of tensor b (154) at non-singleton dimension 1"
        )
