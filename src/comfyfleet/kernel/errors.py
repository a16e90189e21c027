"""Every error a verb may raise. Errors are facts; edges translate them.

    FleetError
    ├── NotFound                 404
    ├── Conflict                 409   IllegalMove  DuplicateKey  AlreadyExists  UploadMissing  UploadMismatch
    │                                  LeaseLost  LeasesOpen  NothingDelivered  NotWaiting
    │                                  OutputMissing  Superseded
    │                                  WorkerNameHeld  WorkerNameElsewhere  WorkerLives
    │                                  EffectPublished  FileInUse
    ├── Refused                  422   InsufficientTokens  BalanceLimit  InvalidInput  InvalidCursor  LinkSpent
    │   │                              EffectUnavailable  KeyReused  MediaRefused  TooManyActiveJobs
    │   └── LimitReached         429
    ├── Unauthenticated          401
    ├── Forbidden                403   TenantSuspended  SignatureRefused  FleetSecretScope
    └── Unavailable              503   CreditsStopped  DatabaseUnavailable  SchemaTrouble  StorageUnavailable
                                       GraphUnreadable  MediaToolsMissing  ProbeOverdue
                                       MediaSandboxMissing

A class has a stable `code` (programs match on it) and a `text` (people read it), filled from the facts it is raised
with. The numbers above are what `api/errors.py` makes of each family; `cli/errors.py` makes exit codes of them.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from comfyfleet.kernel.durations import format_with_times


class FleetError(Exception):
    code: ClassVar[str] = "error"
    text: ClassVar[str] = "Something went wrong."

    def __init__(self, message: str | None = None, /, **facts: Any) -> None:
        self.facts = facts
        super().__init__(message if message is not None else format_with_times(self.text, (), facts))

    @property
    def message(self) -> str:
        return str(self)

    if not TYPE_CHECKING:  # a name that no class declares stays a mistake for the type checker

        def __getattr__(self, name: str) -> Any:
            """A fact by its name: `error.required_tokens`."""
            facts = self.__dict__.get("facts", {})
            if name in facts:
                return facts[name]
            raise AttributeError(f"{type(self).__name__} has no {name!r}", name=name, obj=self)


class NotFound(FleetError):
    """There is no such thing, or it belongs to somebody else: the two answers are the same."""

    code = "not_found"
    text = "There is no {noun} {name!r}."
    noun: str
    name: str

    def __init__(self, noun: str, name: object) -> None:
        super().__init__(noun=noun, name=str(name))


class Conflict(FleetError):
    """The world has moved on since the caller looked."""

    code = "conflict"


class IllegalMove(Conflict):
    """The state does not allow the event."""

    code = "illegal_move"
    text = "A {noun} that is {state} cannot be moved by '{event}'."

    def __init__(self, noun: str, *, state: str, event: str) -> None:
        # As plain words: a member of an enum tells its class to whoever reads the sentence.
        super().__init__(noun=noun, state=str(state), event=str(event))


class AlreadyExists(Conflict):
    """A unique name is taken."""

    code = "already_exists"
    text = "The {noun} {name!r} exists already."

    def __init__(self, noun: str, name: object) -> None:
        super().__init__(noun=noun, name=str(name))


class DuplicateKey(Conflict):
    """An idempotency key came again with other contents."""

    code = "duplicate_key"
    text = "{key!r} was used before for something else. Use a new one, or send the first request again."

    def __init__(self, key: str) -> None:
        super().__init__(key=key)


class UploadMissing(Conflict):
    """The upload was announced and never arrived."""

    code = "upload_missing"
    text = "Nothing has been uploaded for file {file_id}. PUT the bytes to its upload URL first."

    def __init__(self, file_id: object) -> None:
        super().__init__(file_id=str(file_id))


class FileInUse(Conflict):
    """A job that is queued or running takes this file."""

    code = "file_in_use"
    text = "Job {job_id} still needs this file. Cancel it first, or wait until it has ended."

    def __init__(self, job_id: object) -> None:
        super().__init__(job_id=str(job_id))


class UploadMismatch(Conflict):
    """What arrived is not what was announced."""

    code = "upload_mismatch"
    text = "The upload has {found_bytes} bytes where {expected_bytes} were announced."

    def __init__(self, *, expected_bytes: int, found_bytes: int) -> None:
        super().__init__(expected_bytes=expected_bytes, found_bytes=found_bytes)


class LeaseLost(Conflict):
    """The lease is somebody else's by now, or over. Whatever the caller made under it must be thrown away."""

    code = "lease_lost"
    text = "The lease on dispatch {dispatch_id} does not stand: {reason}. Stop, and discard the result."

    def __init__(self, dispatch_id: object, reason: str) -> None:
        super().__init__(dispatch_id=str(dispatch_id), reason=reason)


class OutputMissing(Conflict):
    """A worker says that it is done, and what it made is not in the store."""

    code = "output_missing"
    text = "The output {path!r} is {problem}. Upload it, then complete again."

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path=path, problem=problem)


class NothingDelivered(Conflict):
    """A worker says that it is done, and names nothing that it made, where somebody pays for a result."""

    code = "nothing_delivered"
    text = "Dispatch {dispatch_id} has to deliver, and no output is named. Upload one and name it, or fail the job."

    def __init__(self, dispatch_id: object) -> None:
        super().__init__(dispatch_id=str(dispatch_id))


class LeasesOpen(Conflict):
    """A worker signs off while it still holds work."""

    code = "leases_open"
    text = "Leases that worker {worker_id!r} still holds: {count}. Complete them or give them back first."

    def __init__(self, worker_id: str, count: int) -> None:
        super().__init__(worker_id=worker_id, count=count)


class Superseded(Conflict):
    """Another process has registered under this worker's name since."""

    code = "superseded"
    text = "Worker {worker_id!r} was taken over by a newer process. Stop this one."

    def __init__(self, worker_id: str) -> None:
        super().__init__(worker_id=worker_id)


class WorkerNameHeld(Conflict):
    """A live worker has the name, and the registration does not show that it comes from that worker."""

    code = "worker_name_held"
    text = (
        "A live worker has the name {worker_id!r}, and this registration shows neither its last token nor a lease it "
        "holds. The name is free when that worker has made no call for {held_s:time}: try again in "
        "{retry_after_s:time}, or use another name."
    )
    retry_after_s: int

    def __init__(self, worker_id: str, *, held_s: int, retry_after_s: int) -> None:
        super().__init__(worker_id=worker_id, held_s=held_s, retry_after_s=retry_after_s)


class WorkerNameElsewhere(Conflict):
    """The name belongs to a worker of a fleet that the secret does not open."""

    code = "worker_name_elsewhere"
    text = (
        "The name {worker_id!r} belongs to a worker of another fleet. Use another name, or let an operator free it: "
        "comfyfleet workers forget {worker_id}"
    )

    def __init__(self, worker_id: str) -> None:
        super().__init__(worker_id=worker_id)


class WorkerLives(Conflict):
    """What can be done to a worker that is away only was asked of one that still calls."""

    code = "worker_lives"
    text = "Worker {worker_id!r} made a call {silent_s:time} ago. Stop it first, or revoke it to shut it out."

    def __init__(self, worker_id: str, *, silent_s: int) -> None:
        super().__init__(worker_id=worker_id, silent_s=silent_s)


class NotWaiting(Conflict):
    """What can be done to a waiting dispatch only was asked of one that a worker holds, or that is over."""

    code = "not_waiting"
    text = "Dispatch {dispatch_id} is {status}: only one that waits, queued or delayed, can be given another place."

    def __init__(self, dispatch_id: object, status: str) -> None:
        super().__init__(dispatch_id=str(dispatch_id), status=status)


class EffectPublished(Conflict):
    """What can be done to an unpublished effect only was asked of one that users see."""

    code = "effect_published"
    text = "The effect {effect!r} is published. Unpublish it first."

    def __init__(self, effect: str) -> None:
        super().__init__(effect=effect)


class Refused(FleetError):
    """The request is understood and the answer is no."""

    code = "refused"


class InvalidInput(Refused):
    """A value does not fit its field."""

    code = "invalid_input"
    text = "{field}: {problem}"
    field: str
    problem: str

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field=field, problem=problem)


class InvalidCursor(Refused):
    """The page cursor was not made by this list."""

    code = "invalid_cursor"
    text = "The cursor is not one that this list handed out. Leave it away to start from the first page."


class InsufficientTokens(Refused):
    """The wallet does not hold what the job costs."""

    code = "insufficient_tokens"
    text = "Insufficient token balance."
    required_tokens: int
    available_tokens: int

    def __init__(self, *, required_tokens: int, available_tokens: int) -> None:
        super().__init__(required_tokens=required_tokens, available_tokens=available_tokens)


class StorageQuotaExceeded(Refused):
    """The tenant's files, uploads on their way included, have as many bytes as an operator allows."""

    code = "storage_quota_exceeded"
    text = (
        "Your files have {used_bytes} of {limit_bytes} bytes, and {wanted_bytes} more do not fit. Delete some, or ask"
        " whoever runs this installation for more."
    )

    def __init__(self, *, used_bytes: int, limit_bytes: int, wanted_bytes: int) -> None:
        super().__init__(used_bytes=used_bytes, limit_bytes=limit_bytes, wanted_bytes=wanted_bytes)


class BalanceLimit(Refused):
    """A wallet cannot hold more than can be counted exactly everywhere."""

    code = "balance_limit"
    text = "The wallet would hold more than {balance_max} tokens."

    def __init__(self, *, balance_max: int) -> None:
        super().__init__(balance_max=balance_max)


class KeyReused(Refused):
    """An idempotency key came again with another request."""

    code = "idempotency_key_reused"
    text = "The idempotency key {key!r} was used for another request. Use a new one, or send the first request again."
    key: str

    def __init__(self, key: str) -> None:
        super().__init__(key=key)


class TooManyActiveJobs(Refused):
    """A user has as many jobs under way as one may have."""

    code = "too_many_active_jobs"
    text = "{active_jobs_max} jobs are queued or running already. Wait for one to end, or cancel one."
    active_jobs_max: int

    def __init__(self, *, active_jobs_max: int) -> None:
        super().__init__(active_jobs_max=active_jobs_max)


class EffectUnavailable(Refused):
    """The effect is there, and cannot make jobs at present."""

    code = "effect_unavailable"
    text = "The effect {effect!r} cannot be used now: {reason}."
    effect: str
    reason: str

    def __init__(self, effect: str, reason: str) -> None:
        super().__init__(effect=effect, reason=reason)


class LinkSpent(Refused):
    """A one-time link was used, replaced, or is too old."""

    code = "link_spent"
    text = "This link has expired or was used already. Ask for a new one."


class MediaRefused(Refused):
    """A picture or a film is damaged, too large, or not what it was announced as."""

    code = "media_refused"
    text = "{field}: the file {problem}."
    field: str
    problem: str
    holds: str | None  # what it is instead, where it is not what it was announced as

    def __init__(self, field: str, problem: str, *, holds: str | None = None) -> None:
        super().__init__(field=field, problem=problem, holds=holds)


class LimitReached(Refused):
    """Too many, too fast."""

    code = "rate_limited"
    text = "Too many requests. Try again in {retry_after_s:time}."
    retry_after_s: int

    def __init__(self, *, retry_after_s: int) -> None:
        super().__init__(retry_after_s=retry_after_s)


class Unauthenticated(FleetError):
    """Who is asking is not known: no credential, or one that is wrong, expired or revoked."""

    code = "unauthenticated"
    text = "Send a key as 'Authorization: Bearer cf_…' or log in."


class Forbidden(FleetError):
    """Who is asking is known, and may not."""

    code = "forbidden"
    text = "This credential may not do that."


class TenantSuspended(Forbidden):
    """A suspended tenant may read, and nothing else."""

    code = "tenant_suspended"
    text = "This tenant is suspended: it can read but not create. Ask the operator."


class FleetSecretScope(Forbidden):
    """A fleet secret does not open what a worker registers for."""

    code = "fleet_secret_scope"
    text = "This fleet secret {problem}. Use one that was made for it: comfyfleet fleet-secrets create"

    def __init__(self, problem: str) -> None:
        super().__init__(problem=problem)


class SignatureRefused(Forbidden):
    """A signed URL or a signed message does not hold."""

    code = "signature_refused"


class Unavailable(FleetError):
    """Something we depend on does not answer. Trying again later is right."""

    code = "unavailable"


class DatabaseUnavailable(Unavailable):
    """A database cannot be reached or stays locked."""

    code = "database_unavailable"
    text = "The database {database!r} does not answer. Try again."

    def __init__(self, database: str) -> None:
        super().__init__(database=database)


class SchemaTrouble(Unavailable):
    """A database could not be brought to, or compared with, this code's schema."""

    code = "schema_trouble"
    text = "{database}: {problem}"

    def __init__(self, database: str, problem: str) -> None:
        super().__init__(database=database, problem=problem)


class CreditsStopped(Unavailable):
    """An audit chain does not hold, and no operator has looked at it."""

    code = "credits_stopped"
    text = (
        "Credits are stopped: an audit chain does not hold. An operator looks at it and acknowledges it: "
        "comfyfleet audit-log list-alarms"
    )


class StorageUnavailable(Unavailable):
    """The object store cannot be reached."""

    code = "storage_unavailable"
    text = "The object store does not answer. Try again."


class StorageFull(Unavailable):
    """The disk of the object store is nearly full. Uploads are refused, so that databases still work."""

    code = "storage_full"
    text = "The server has no room for uploads at the moment. Tell whoever runs it, and try again later."


class GraphUnreadable(Unavailable):
    """The graph of a workflow is missing from the object store, or is not the one that was registered."""

    code = "graph_unreadable"
    text = "The stored graph {path!r} cannot be used. An operator has to look at it."

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path=path, problem=problem)


class MediaToolsMissing(Unavailable):
    """This server was installed without what it needs to look at pictures and films."""

    code = "media_tools_missing"
    text = "This server cannot look at media. Its operator has to install them: pip install 'comfyfleet[media]'."


class MediaSandboxMissing(Unavailable):
    """In production media is looked at behind a seccomp filter only, and this server's kernel offers none."""

    code = "media_sandbox_missing"
    text = "This server cannot look at media safely: no seccomp filter. Its operator has to act."


class ProbeOverdue(Unavailable):
    """Looking at an upload took too long; the machine may be busy. The upload is kept."""

    code = "probe_overdue"
    text = "The upload could not be looked at in time. Try again."
