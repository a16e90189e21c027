"""The worker protocol, version 1: what a worker and the control plane say to each other. Durations, never instants."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Raw, Struct, field

Provider = Literal["self_hosted", "cloud"]
Name = Annotated[str, Meta(min_length=1, max_length=128)]
Slug = Annotated[str, Meta(min_length=1, max_length=63)]
WorkflowSlug = Annotated[str, Meta(min_length=1, max_length=100)]
Token = Annotated[str, Meta(min_length=1, max_length=128)]
Note = Annotated[str, Meta(max_length=4000)]
Word = Annotated[str, Meta(max_length=200)]
Count = Annotated[int, Meta(ge=0, le=100_000)]
Concurrency = Annotated[int, Meta(ge=1, le=1000)]
Seconds = Annotated[float, Meta(ge=0, le=10_000_000)]
ServiceReason = Literal["service_error", "service_job_not_found"]
# More of a server's own response is not kept.
RESULT_BYTES_MAX = 64 * 1024
METADATA_BYTES_MAX = 2 * 1024
# What one PUT can carry: object stores end there.
OUTPUT_BYTES_MAX = 5 * 1024**3
# Of node classes, packed: a server with thousands of them stays below.
DEFINITIONS_BYTES_MAX = 8 * 1024**2
FailureClass = Literal[
    "user_input",
    "workflow_invalid",
    "execution_error",
    "out_of_memory",
    "server_fault",
    "infra",
    "interrupted",
    "timeout",
    "cancelled",
]


class Request(Struct, forbid_unknown_fields=True, kw_only=True):
    """Every call names the worker it comes from."""

    worker_id: Name


class LeaseProof(Struct, forbid_unknown_fields=True, kw_only=True):
    dispatch_id: UUID
    lease_token: Token


# ── register, deregister ──


class Register(Request):
    """With `fleet_slug` and `stage`, or with `workflow_slugs`. `leases`: what the worker's journal proves it holds."""

    fleet_slug: Slug | None = None
    stage: Slug | None = None
    workflow_slugs: Annotated[list[WorkflowSlug], Meta(max_length=1000)] = []
    max_concurrency: Concurrency = 1
    providers: Annotated[list[Provider], Meta(min_length=1, max_length=2)] = field(
        default_factory=lambda: ["self_hosted"]
    )
    capabilities: dict[str, Any] = {}
    boot_id: Word | None = None
    leases: Annotated[list[LeaseProof], Meta(max_length=1000)] = []


class Rebound(Struct, kw_only=True):
    """A lease that goes on in the worker's new life, under a new token."""

    dispatch_id: UUID
    lease_token: str
    lease_seconds: float


class Registered(Struct, kw_only=True):
    worker_id: str
    token: str
    workflows_assigned: list[str]
    status: str
    incarnation: int
    lease_ttl_seconds: float
    heartbeat_interval_seconds: float
    leases: list[Rebound]
    # Fields of later requests that this control plane knows, of those that came later.
    takes: list[str] = []
    # Workflows that it may run and does not get, by slug: what it lacks for them.
    lacks: dict[str, list[str]] = {}


class Deregister(Request):
    pass


class Deregistered(Struct, kw_only=True):
    worker_id: str
    status: str


# ── poll ──


class Poll(Request, omit_defaults=True):
    """`warm`: structure hashes of loaded models. `poll_id`: a lost reply comes again. `capabilities`: if changed.

    `wants_output_url`, where the registration `takes` it: false leaves `output_url` out of the reply, for a worker that
    asks `outputs` for every place.
    `tells_begin`, where the registration `takes` it: the worker says by a heartbeat's `service_status` or by a
    `progress` event when its server has begun a job. Until then the job stays `queued` for its user.
    """

    providers: Annotated[list[Provider], Meta(min_length=1, max_length=2)] = field(
        default_factory=lambda: ["self_hosted"]
    )
    current_load: Count = 0
    max_concurrency: Concurrency = 1
    uploading: Count = 0
    capabilities: dict[str, Any] = {}
    wait_seconds: Annotated[float, Meta(ge=0, le=30)] = 0
    poll_id: Name | None = None
    warm: Annotated[list[Word], Meta(max_length=100)] = []
    wants_output_url: bool = True
    tells_begin: bool = False


class Job(Struct, kw_only=True):
    """A lease. It lives `lease_seconds` until its first heartbeat, and from then on for the whole TTL each time.

    `nonce` is this attempt's own. `output_url` takes the primary output in one PUT with `output_headers`, whatever its
    size; it is then named by `output_path` at completion. Further ones, one whose URL has expired, and all where the
    poll wanted none: `outputs`.
    All URLs of the reply work for `url_seconds`. `takes_ran_s`: this control plane knows the field of that name;
    `takes`: the further fields that it knows, of those that came later, and calls. `traceparent` (W3C trace context):
    the span of this attempt, parent of what the worker records; null where the job has no trace.
    """

    dispatch_id: UUID
    lease_token: str
    lease_seconds: float
    heartbeat_interval_seconds: float
    deadline_seconds: float
    job_id: UUID
    workflow_id: UUID
    structure_hash: str
    provider: str
    attempt: int
    epoch: int
    nonce: str
    input_payload: Raw
    input_url: str | None = None
    output_url: str | None = None
    output_headers: dict[str, str] = {}
    output_path: str | None = None
    url_seconds: int = 0
    takes_ran_s: bool = False
    takes: list[str] = []
    traceparent: str | None = None


class PollReply(Struct, kw_only=True):
    """`draining`: an operator wants it gone. It finishes what it holds, takes nothing more, and signs off. One that
    was `draining` when it registered was told before: it stays, and asks from time to time whether that has ended."""

    job: Job | None
    draining: bool = False


# ── heartbeat ──


class HeldLease(LeaseProof, omit_defaults=True):
    """`ahead`: leased, and not begun; somebody idle may have it. `progress`: of the whole job; `node`: where it is.

    `input_url_seconds`: how long the URLs of inputs that are still to be fetched work; left out when all are here.
    Where the job `takes` them: `submitted_seconds`, how long ago the server was sent the prompt, and
    `checked_seconds`, how long ago its queue or history was last read for this prompt.
    """

    provider_job_id: Word | None = None
    service_status: Word | None = None
    ahead: bool = False
    progress: Annotated[float, Meta(ge=0, le=1)] | None = None
    node: Word | None = None
    input_url_seconds: Seconds | None = None
    submitted_seconds: Seconds | None = None
    checked_seconds: Seconds | None = None


class Heartbeat(Request, omit_defaults=True):
    """For all leases at once, or, as the seeds have it, for one. `capabilities`: if changed, as in a poll: one that has
    no server left does not poll."""

    current_load: Count = 0
    capabilities: dict[str, Any] = {}
    leases: Annotated[list[HeldLease], Meta(max_length=1000)] = []
    dispatch_id: UUID | None = None
    lease_token: Token | None = None


class LeaseState(Struct, kw_only=True):
    """`input_urls`: for a worker whose own are about to expire, fresh ones by the asset's name, for `url_seconds`."""

    dispatch_id: UUID
    lease_seconds: float
    deadline_seconds: float
    cancel_requested: bool
    give_back: bool
    input_urls: dict[str, str] = {}
    url_seconds: int = 0


class HeartbeatReply(Struct, kw_only=True):
    """`lost`: stop these at once, and discard what they made. `draining`: as in the reply to a poll."""

    leases: list[LeaseState]
    lost: list[UUID]
    heartbeat_interval_seconds: float
    draining: bool = False


# ── notices ──


class Notices(Request):
    """One call that stays open while leases are held. `heard`: cancels that it need not be told again; `draining`: it
    leaves already, or was drained when it came."""

    wait_seconds: Annotated[float, Meta(ge=0, le=30)] = 0
    heard: Annotated[list[UUID], Meta(max_length=1000)] = []
    draining: bool = False


class NoticesReply(Struct, kw_only=True):
    """What a heartbeat's reply would say, as soon as it is so. Empty when the time is over, or when another call of
    this worker has taken the place of this one."""

    cancel_requested: list[UUID]
    draining: bool = False


# ── the end of a lease ──


class Output(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An object that was uploaded under this lease. `metadata`, where the job `takes` `output_metadata`: which node
    left it, and under which name. `sha256` is accepted from older workers and not kept: it would be unchecked."""

    path: Annotated[str, Meta(min_length=1, max_length=512)]
    name: Annotated[str, Meta(min_length=1, max_length=255)]
    mime_type: Annotated[str, Meta(min_length=3, max_length=127)]
    size: Annotated[int, Meta(ge=0, le=OUTPUT_BYTES_MAX)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    metadata: dict[str, Any] = {}


class Ending(Request, kw_only=True, omit_defaults=True):
    """`provider_job_id`: the prompt, kept with the attempt. Where the job `takes` them: `service_reason`, if the server
    ended it, and `result_metadata`, what the server itself said of the end, for operators. Too much of it is left out.

    Where the job `takes` `ending_times`: `service_status`, `submitted_seconds` and `checked_seconds` as in a heartbeat,
    as of now. A job may be shorter than the time between two heartbeats.
    """

    dispatch_id: UUID
    lease_token: Token
    provider_job_id: Word | None = None
    service_reason: ServiceReason | None = None
    result_metadata: dict[str, Any] | None = None
    service_status: Word | None = None
    submitted_seconds: Seconds | None = None
    checked_seconds: Seconds | None = None


class Complete(Ending):
    """`ran_s`: how long a server worked on it, where the job `takes_ran_s`; else the time since the lease counts."""

    ran_s: Annotated[float, Meta(ge=0)] | None = None
    outputs: Annotated[list[Output], Meta(max_length=1000)] = []


class Fail(Ending):
    error: Note = ""
    error_class: FailureClass = "infra"


class Requeue(Ending):
    reason: Annotated[str, Meta(min_length=1, max_length=500)]


class EndReply(Struct, kw_only=True):
    """What became of the dispatch. `replayed`: it was said before, and this is the answer of then."""

    dispatch_id: UUID
    status: str
    replayed: bool


# ── outputs, events ──


class WantedOutput(Struct, forbid_unknown_fields=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=255)]
    mime_type: Annotated[str, Meta(min_length=3, max_length=127)]
    size: Annotated[int, Meta(ge=1, le=OUTPUT_BYTES_MAX)]


class Outputs(Request):
    dispatch_id: UUID
    lease_token: Token
    outputs: Annotated[list[WantedOutput], Meta(min_length=1, max_length=100)]


class OutputUrl(Struct, kw_only=True):
    name: str
    path: str
    output_url: str
    output_headers: dict[str, str]
    expires_seconds: int


class OutputsReply(Struct, kw_only=True):
    outputs: list[OutputUrl]


class Event(Struct, forbid_unknown_fields=True, kw_only=True):
    """`data` goes to whoever watches as it is. What the job itself shows is taken from these of its keys:

    `progress`: `fraction` (0 to 1, of the whole job), `node`, `node_class`, `step`, `steps`; `node`: `node`,
    `node_class`; `preview`: `mime_type`, `image` (base64); `log`: `line`.

    `data` has at most 8 KiB as JSON, that of a `preview` 768 KiB.
    """

    kind: Literal["progress", "node", "preview", "log"]
    dispatch_id: UUID | None = None
    lease_token: Token | None = None
    ago_seconds: Annotated[float, Meta(ge=0, le=3600)] = 0
    data: dict[str, Any] = {}


class Events(Request):
    events: Annotated[list[Event], Meta(max_length=500)]


class EventsReply(Struct, kw_only=True):
    """`lost`: leases that are no longer the worker's; what it said of them is left out, the rest is taken.
    `too_large`: positions in the request, counted from 0, of events whose data has too many bytes; they are left out,
    too. A worker that reports too much at once gets 429 `rate_limited`.
    `cancel_requested`: as in the reply to a heartbeat, and often sooner."""

    accepted: int
    lost: list[UUID] = []
    too_large: list[int] = []
    cancel_requested: list[UUID] = []


# ── definitions ──


class Definitions(Request):
    """What the worker's servers say of their node classes (`GET /object_info`), without lists of files.

    First the digest alone: SHA-256 of the JSON. Where the reply says `wanted`, again with `gzip` (base64): that JSON,
    packed. The server compares the two. A control plane from before this address answers 404.
    """

    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    gzip: Annotated[bytes, Meta(max_length=DEFINITIONS_BYTES_MAX)] | None = None


class DefinitionsReply(Struct, kw_only=True):
    wanted: bool
