"""comfyfleet from Python: order effects, watch them, save what they made. Blocking or awaiting, the same words.

from comfyfleet.client import Client

with Client() as fleet:                                  # COMFYFLEET_URL, COMFYFLEET_API_KEY
    fleet.run("old-film", "clip.mp4", grain=0.4).save("out")
"""

from comfyfleet.client.awaiting import AsyncClient, AsyncResult
from comfyfleet.client.blocking import Client, Result
from comfyfleet.client.errors import (
    ApiUnreachable,
    DownloadMismatch,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    KeyMissing,
    StillRunning,
    StrangeAnswer,
)
from comfyfleet.client.events import (
    Created,
    Downloading,
    Event,
    InQueue,
    Logged,
    Missed,
    Previewed,
    Progressed,
    StatusChanged,
    Uploading,
)
from comfyfleet.client.model import Effect, EffectProperty, Job, Output, Page, SavedOutput, Video, Wallet
from comfyfleet.client.runs_model import Candidate, Making, Pipeline, Run, RunJob, RunStep, Vote
from comfyfleet.kernel.errors import (
    Conflict,
    EffectUnavailable,
    FleetError,
    Forbidden,
    InsufficientTokens,
    InvalidInput,
    KeyReused,
    LimitReached,
    MediaRefused,
    NotFound,
    Refused,
    TenantSuspended,
    TooManyActiveJobs,
    Unauthenticated,
    Unavailable,
)

__all__ = [
    "ApiUnreachable",
    "AsyncClient",
    "AsyncResult",
    "Candidate",
    "Client",
    "Conflict",
    "Created",
    "DownloadMismatch",
    "Downloading",
    "Effect",
    "EffectProperty",
    "EffectUnavailable",
    "Event",
    "FleetError",
    "Forbidden",
    "InQueue",
    "InsufficientTokens",
    "InvalidInput",
    "InvalidRequest",
    "Job",
    "JobCancelled",
    "JobFailed",
    "KeyMissing",
    "KeyReused",
    "LimitReached",
    "Logged",
    "Making",
    "MediaRefused",
    "Missed",
    "NotFound",
    "Output",
    "Page",
    "Pipeline",
    "Previewed",
    "Progressed",
    "Refused",
    "Result",
    "Run",
    "RunJob",
    "RunStep",
    "SavedOutput",
    "StatusChanged",
    "StillRunning",
    "StrangeAnswer",
    "TenantSuspended",
    "TooManyActiveJobs",
    "Unauthenticated",
    "Unavailable",
    "Uploading",
    "Video",
    "Vote",
    "Wallet",
]
