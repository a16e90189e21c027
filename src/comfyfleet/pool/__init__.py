"""Many ComfyUI servers as one. A library of its own: `Pool(servers)` with `run`, `submit`, `events`, `close`."""

from comfyfleet.pool.errors import PoolClosed, QueueFull, RunCancelled, RunFailed
from comfyfleet.pool.events import (
    ClientBlockedWorkflow,
    ClientEvent,
    ClientState,
    ClientUnblockedWorkflow,
    JobCancelled,
    JobCompleted,
    JobEvent,
    JobFailed,
    JobPreview,
    JobProgress,
    JobQueued,
    JobRetrying,
    JobStarted,
    JobWaiting,
    PoolEvent,
    as_json,
)
from comfyfleet.pool.failover import EVERY_WORKFLOW, BlockChange, Blocked, FailoverStrategy, SmartFailover, Unblocked
from comfyfleet.pool.lifecycle import JobState
from comfyfleet.pool.model import InputFile, Job, JobResult, PoolState, QueuedJob, ServerState, ServerView
from comfyfleet.pool.pool import Pool
from comfyfleet.pool.profile import NodeProfile, Profile
from comfyfleet.pool.queue import MemoryQueue, QueueAdapter, QueueDepth
from comfyfleet.pool.run import JobHandle
from comfyfleet.pool.servers import Server
from comfyfleet.pool.subscribe import Subscription

__all__ = [
    "EVERY_WORKFLOW",
    "BlockChange",
    "Blocked",
    "ClientBlockedWorkflow",
    "ClientEvent",
    "ClientState",
    "ClientUnblockedWorkflow",
    "FailoverStrategy",
    "InputFile",
    "Job",
    "JobCancelled",
    "JobCompleted",
    "JobEvent",
    "JobFailed",
    "JobHandle",
    "JobPreview",
    "JobProgress",
    "JobQueued",
    "JobResult",
    "JobRetrying",
    "JobStarted",
    "JobState",
    "JobWaiting",
    "MemoryQueue",
    "NodeProfile",
    "Pool",
    "PoolClosed",
    "PoolEvent",
    "PoolState",
    "Profile",
    "QueueAdapter",
    "QueueDepth",
    "QueueFull",
    "QueuedJob",
    "RunCancelled",
    "RunFailed",
    "Server",
    "ServerState",
    "ServerView",
    "SmartFailover",
    "Subscription",
    "Unblocked",
    "as_json",
]
