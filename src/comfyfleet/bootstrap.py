"""The only place that constructs and connects."""

import os
import secrets
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

import sqlalchemy as sa
import structlog
from pydantic import SecretStr
from sqlalchemy.exc import SQLAlchemyError

from comfyfleet.api.options import ApiOptions, SettingInForce
from comfyfleet.audit import Action, Actor, ChainSigner, record_action
from comfyfleet.db import Database, open_database
from comfyfleet.db.engine import no_offset
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, History, current
from comfyfleet.desk import Desk
from comfyfleet.dispatch import LeaseSigner, QueueRules
from comfyfleet.fleet import WITHOUT_SCOPE, FleetRules, secrets_without_scope
from comfyfleet.gauges import MetricsPort, PortRules
from comfyfleet.house import House
from comfyfleet.jobs import JobRules
from comfyfleet.kernel.errors import AlreadyExists, NotFound, SchemaTrouble
from comfyfleet.kernel.secret import Secret, new_secret
from comfyfleet.live import Live
from comfyfleet.media.model import MediaRules
from comfyfleet.media.probe import Prober
from comfyfleet.media.seccomp import forbid_dumps, why_none
from comfyfleet.notifications import AlertTimes
from comfyfleet.settings import KEY_CHARS_MIN, Settings, SettingsError
from comfyfleet.storage import ObjectStore
from comfyfleet.storage.backends.local import LocalStore
from comfyfleet.tenants import Postbox, Role, create_user, find_user
from comfyfleet.tenants.credentials import LinkSigner, create_key
from comfyfleet.tenants.model import SCOPES
from comfyfleet.traces.control_plane import ControlPlaneSpans
from comfyfleet.traces.open import open_traces
from comfyfleet.upkeep import (
    Elsewhere,
    ReplicaReporter,
    Upkeep,
    UpkeepRules,
    apply_settlements,
    loops_of,
    own_loops,
    scale_fleets,
)

OPERATOR_EMAIL = "operator@localhost"
ADDRESS_FILE = "address"
OPERATOR_KEY_FILE = "operator.key"
OBJECTS = "objects"
# One each for polls, heartbeats and completions, which are batched; the rest for failures, the bell and chores.
DESK_CONNECTIONS = 8
# Twice what `desk.presence` lags behind: a live worker is never taken for a silent one.
NAME_HELD_S_MIN = 10.0
DAY_S = 86_400.0
# Of `up --autoscale`: somebody looks on.
SHOW_SCALING_EVERY_S = 2.0
# Read and written by its owner only.
PRIVATE = stat.S_IRUSR | stat.S_IWUSR
DURABLE = ("fsync", "synchronous_commit")

log = structlog.get_logger()


class NoHome(NotFound):
    """There is nothing here yet, and this command does not make it."""

    code = "no_home"
    text = "There is no comfyfleet in {name}. Run this where `make up` runs, or set COMFYFLEET_HOME."


def build_house(
    settings: Settings,
    *,
    makes_home: bool = True,
    clock_offset_s: Callable[[], float] = no_offset,
    traces: ControlPlaneSpans | None = None,
) -> House:
    if settings.mode == "embedded":
        if not makes_home and not settings.home.exists() and settings.database_url is None:
            raise NoHome("home", settings.home.resolve())
        make_private_folder(settings.home)
        make_private_databases(settings)
    signing_key = _signing_key(settings)
    pools = settings.pool_urls()

    def database(name: str, url: str) -> Database:
        return open_database(
            name,
            url,
            clock_offset_s=clock_offset_s,
            pool_size=settings.database_connections,
            prepares_built_once=settings.prepare_statements,
        )

    leases, rules = LeaseSigner(signing_key), _queue_rules(settings)
    desk_database = open_database(
        "central",
        settings.central_url(),
        clock_offset_s=clock_offset_s,
        pool_size=DESK_CONNECTIONS,
        prepares=settings.prepare_statements,
    )
    central = database("central", settings.central_url())
    databases = {name: database(name, url) for name, url in pools.items()}
    return House(
        central=central,
        pools=databases,
        default_pool=settings.default_pool or next(iter(pools)),
        store=_build_store(settings, signing_key),
        links=LinkSigner(signing_key, public_url(settings)),
        postbox=Postbox(_secret(settings.smtp_url), settings.mail_from) if settings.smtp_url else None,
        desk=Desk(desk_database, signer=leases, rules=rules),
        live=Live(
            central,
            databases,
            url=replica_url(settings),
            signing_key=signing_key,
            fleet_rules=_fleet_rules(settings),
        ),
        leases=leases,
        chain=ChainSigner(signing_key),
        queue_rules=rules,
        fleet_rules=_fleet_rules(settings),
        job_rules=JobRules(settings.max_active_jobs_per_user, settings.max_job_priority),
        storage_bytes_max=settings.storage_bytes_per_tenant_max,
        run_jobs_per_tenant_max=settings.run_jobs_per_tenant_max,
        prober=Prober(_media_rules(settings)),
        traces=traces or ControlPlaneSpans(url=settings.trace_url),
        notification_networks=tuple(settings.notification_networks),
    )


def _queue_rules(settings: Settings) -> QueueRules:
    return QueueRules(
        lease_ttl_s=settings.lease_ttl_s,
        grace_s=settings.lease_grace_s,
        lease_ahead=settings.lease_ahead,
        max_attempts=settings.max_attempts,
        max_releases=settings.max_releases,
        run_deadline_s=settings.run_deadline_s,
        queue_deadline_s=settings.queue_deadline_s,
        block_cooldown_s=settings.block_cooldown_s,
        max_failures_before_block=settings.max_failures_before_block,
    )


def _fleet_rules(settings: Settings) -> FleetRules:
    return FleetRules(
        max_fleet_workers=settings.max_fleet_workers,
        max_workers_without_fleet=settings.max_workers_without_fleet,
        name_held_s=max(settings.lease_ttl_s, NAME_HELD_S_MIN),
        stale_worker_s=settings.stale_worker_s,
        approves_by_itself=settings.approve_workers,
        registrations_per_minute=settings.registrations_per_minute,
        validates_asg_instance=settings.validate_asg_instance,
        aws_region=settings.region(),
        asg_groups=tuple(settings.asg_groups),
    )


def _media_rules(settings: Settings) -> MediaRules:
    return MediaRules(
        pixels_max=settings.media_pixels_max,
        duration_s_max=settings.media_duration_s_max,
        image_bytes_max=settings.media_image_bytes_max,
        probe_s=settings.media_probe_s,
        probe_memory_bytes=settings.media_probe_memory_bytes,
        probes_max=settings.media_probes_max,
        requires_sandbox=settings.mode == "production",
    )


@asynccontextmanager
async def open_house(settings: Settings, *, makes_home: bool) -> AsyncIterator[House]:
    house = build_house(settings, makes_home=makes_home)
    try:
        yield house
    finally:
        await house.close()


def build_options(settings: Settings) -> ApiOptions:
    return ApiOptions(
        hsts=settings.mode == "production" and (settings.public_url or "").startswith("https://"),
        cors_origins=settings.cors_origins,
        body_bytes_max=settings.body_bytes_max,
        upload_bytes_max=settings.upload_bytes_max,
        effect_asset_bytes_max=settings.effect_asset_bytes_max,
        url_ttl_s=settings.url_ttl_s,
        session_ttl_s=settings.session_ttl_s,
        invite_ttl_s=settings.invite_ttl_s,
        password_reset_ttl_s=settings.password_reset_ttl_s,
        requests_per_minute_per_key=settings.requests_per_minute_per_key,
        requests_per_minute_per_tenant=settings.requests_per_minute_per_tenant,
        thumbs_per_minute_per_key=settings.thumbs_per_minute_per_key,
        logins_per_minute=settings.logins_per_minute,
        get_tokens_text=settings.get_tokens_text,
        get_tokens_url=settings.get_tokens_url,
        payment_webhook_secrets=[_secret(each) for each in settings.payment_webhook_secrets],
        webhook_networks=tuple(settings.webhook_networks),
        settings=[
            SettingInForce(each.name, each.value, each.source, each.description, each.is_secret, each.is_set)
            for each in settings.in_force()
        ],
    )


def build_upkeep(house: House, settings: Settings) -> Upkeep | Elsewhere:
    """A replica that leaves upkeep to others calls them when there is something to do."""
    folders = partial(_folders, settings)
    if not settings.upkeep:
        elsewhere = Elsewhere(house.desk, Upkeep(own_loops(house, ReplicaReporter(house, folders))))
        house.desk.on_finished = partial(elsewhere.wake, apply_settlements.NAME)
        return elsewhere
    rules = UpkeepRules(
        retention_s=settings.retention_days * DAY_S,
        webhook_networks=tuple(settings.webhook_networks),
        mirror=settings.runs_mirror,
        cloudwatch_region=settings.region() if settings.publish_cloudwatch else None,
        scaling_every_s=SHOW_SCALING_EVERY_S if settings.autoscale else scale_fleets.EVERY_S,
        alerts_every_s=settings.alerts_every_s,
        alert_times=AlertTimes(settings.alerts_for_s, settings.alerts_resolve_s, settings.alerts_reminder_s),
        folders=folders,
    )
    upkeep = Upkeep(loops_of(house, rules=rules), facts=house.facts)
    house.desk.on_finished = partial(upkeep.wake, apply_settlements.NAME)
    house.desk.on_called = lambda loop, pool: upkeep.wake(loop, pool=pool)
    return upkeep


def open_metrics(house: House, settings: Settings) -> AbstractContextManager[object]:
    """Listens for Prometheus where the settings name a port; entered, it counts. Raises MetricsPortTaken."""
    if settings.metrics_port is None:
        return nullcontext()
    rules = PortRules(
        settings.metrics_host,
        settings.metrics_port,
        settings.metrics_tenants_max,
        folders=lambda: _folders(settings),
        files=lambda: _database_files(settings),
    )
    return MetricsPort(house, rules)


@contextmanager
def open_spans(settings: Settings) -> Iterator[ControlPlaneSpans]:
    """Sends spans where OTEL_EXPORTER_OTLP_ENDPOINT says; what is left goes at the end. Raises TracesMisconfigured."""
    with open_traces("comfyfleet") as sink:
        yield ControlPlaneSpans(sink, url=settings.trace_url)


def _folders(settings: Settings) -> dict[str, Path]:
    store = {"store": settings.home / OBJECTS} if settings.storage == "local" else {}
    mirror = {} if settings.runs_mirror is None else {"mirror": settings.runs_mirror}
    files = _database_files(settings)
    return {**store, **mirror, **{f"database {name}": path.parent for name, path in files.items()}}


def _database_files(settings: Settings) -> dict[str, Path]:
    urls = {"central": settings.central_url(), **settings.pool_urls()}
    parsed = {name: sa.make_url(url) for name, url in urls.items()}
    return {
        name: Path(url.database) for name, url in parsed.items() if url.get_backend_name() == "sqlite" and url.database
    }


def public_url(settings: Settings) -> str:
    """As the settings say; else where the server in this home last said it listens."""
    if settings.public_url:
        return settings.public_url
    said = _read_file(settings.home / ADDRESS_FILE)
    return said or address_of(settings)


def address_of(settings: Settings) -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "") else settings.host  # noqa: S104 compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def replica_url(settings: Settings) -> str:
    """Where other replicas reach this one. On all addresses of the machine: at the one that its name leads to."""
    if settings.replica_url:
        return settings.replica_url
    if settings.host not in ("0.0.0.0", "::", ""):  # noqa: S104 compared, not bound
        return address_of(settings)
    try:
        host = socket.gethostbyname(socket.gethostname())
    except OSError:
        return address_of(settings)
    return f"http://{host}:{settings.port}"


def tell_address(settings: Settings) -> None:
    """So that a link printed by another command leads to the port that this server really has."""
    write_private_file(settings.home / ADDRESS_FILE, address_of(settings) + "\n")


def databases_of(house: House) -> list[tuple[Database, History]]:
    """Each database with the history of its kind."""
    return [(house.central, CENTRAL_HISTORY), *((pool, TENANT_HISTORY) for pool in house.pools.values())]


async def require_current_schema(house: House) -> None:
    """A pool that does not answer is its own tenants' trouble, and keeps nobody else from starting."""
    for database, history in databases_of(house):
        try:
            found = await current(database, history)
        except SchemaTrouble as trouble:
            if database is house.central:
                raise
            log.warning("pool.unreachable", pool=database.name, problem=trouble.facts["problem"])
            continue
        if found != history.head():
            problem = f"schema revision {found or 'none'}, this code needs {history.head()}"
            raise SchemaTrouble(database.name, f"{problem}; run `comfyfleet db upgrade`")


def protect_process() -> None:
    """A server holds secrets: it leaves no core file, and no process of its user can read its memory."""
    if not forbid_dumps():
        log.warning("server.dumpable", problem="the kernel refused it; other processes of this user can read secrets")


def require_media_sandbox(house: House, settings: Settings) -> None:
    """In production strangers' files are decoded behind a seccomp filter, or the server does not start."""
    if house.prober.trouble() is None:
        return
    if settings.mode == "production":
        raise SettingsError(
            [
                f"mode: production looks at uploads behind a seccomp filter only, and here {why_none()}; allow "
                "seccomp(2) in the container's profile, choose another kernel, or install without the `media` extra"
            ]
        )
    log.warning("media.no_sandbox", problem=why_none())


async def require_durable_databases(house: House) -> None:
    """An acknowledged job must survive a power cut: refuse a PostgreSQL that was told to forget."""
    problems = []
    for database in house.databases():
        if database.engine.dialect.name != "postgresql":
            continue
        problems += [
            f"{database.name}: PostgreSQL runs with {name} = off; turn it on" for name in await _forgetful(database)
        ]
    if problems:
        raise SettingsError(problems)


async def _forgetful(database: Database) -> list[str]:
    try:
        async with database.engine.connect() as connection:
            return [name for name in DURABLE if await connection.scalar(sa.text(f"SHOW {name}")) == "off"]
    except SQLAlchemyError:
        return []  # away; what is away cannot be asked, and was reported already


async def warn_of_open_secrets(house: House) -> None:
    """Fleet secrets from before they had a scope work on, for every fleet: operators should replace them."""
    async with house.control_tx(read_only=True) as tx:
        for each in await secrets_without_scope(tx):
            log.warning("fleet_secret.without_scope", named=each.name, problem=WITHOUT_SCOPE)


def warn_of_unchecked_instances(settings: Settings) -> None:
    """Only outside of production: there the settings are refused."""
    if settings.validate_asg_instance and settings.region() is None:
        problem = "no AWS region is set: every instance registers unchecked; set COMFYFLEET_AWS_REGION"
        log.warning("asg_check.no_region", problem=problem)


async def ensure_operator_key(house: House, path: Path, actor: Actor) -> Secret:
    """The first start makes an operator and a key, kept in a file only its owner can read."""
    if kept := _read_file(path):
        return Secret(kept)
    async with house.control_tx() as tx:
        try:
            operator = await create_user(tx, email=OPERATOR_EMAIL, role=Role.OPERATOR, tenant_id=None)
        except AlreadyExists:
            operator = await find_user(tx, OPERATOR_EMAIL)
        made = await create_key(tx, operator, name="made by comfyfleet up", scopes=SCOPES[Role.OPERATOR])
        action = Action("key.create", str(made.key.id), {"email": operator.email, "scopes": sorted(made.key.scopes)})
        await record_action(tx, actor, action, signer=house.chain)
    write_private_file(path, made.secret.reveal() + "\n")
    return made.secret


def make_private_folder(path: Path) -> None:
    """Made by us it is ours alone; one that was there keeps its mode, unless others could write into it."""
    try:
        path.mkdir(parents=True, mode=stat.S_IRWXU)
    except FileExistsError:
        if not path.is_dir():
            raise SettingsError([f"home: {path} is not a folder; move it away"]) from None
        if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SettingsError([f"home: others can write into {path}; choose a folder of its own"]) from None
    except OSError as problem:
        raise SettingsError([f"home: cannot make {path} ({problem.strerror})"]) from None


def make_private_databases(settings: Settings) -> None:
    """For a home that others may look into. SQLite gives its journals the mode of their database."""
    inside = f"sqlite:///{settings.home}/"
    for url in (settings.central_url(), *settings.pool_urls().values()):
        if url.startswith(inside):
            path = settings.home / url.removeprefix(inside)
            with suppress(FileNotFoundError):  # a folder that is missing is reported when the database is opened
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
            for each in (path, *path.parent.glob(f"{path.name}-*")):
                with suppress(OSError):  # another owner's, or just gone
                    each.chmod(PRIVATE)


def write_private_file(path: Path, text: str, *, only_if_absent: bool = False) -> None:
    """Never readable by others, not even for a moment; of two who make it at once, the first one's stays."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if not only_if_absent:
        temporary.replace(path)
        return
    with suppress(FileExistsError):
        os.link(temporary, path)
    temporary.unlink()


def _read_file(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _signing_key(settings: Settings) -> Secret:
    if settings.secret_key is not None:
        return _secret(settings.secret_key)
    path = settings.home / "secret.key"
    if not path.exists():
        write_private_file(path, new_secret().reveal() + "\n", only_if_absent=True)
    kept = _read_file(path) or ""
    if len(kept) < KEY_CHARS_MIN:
        raise SettingsError(
            [f"secret_key: {path} holds no key of {KEY_CHARS_MIN} characters; remove it to get a new one"]
        )
    return Secret(kept)


def _build_store(settings: Settings, signing_key: Secret) -> ObjectStore:
    if settings.storage == "local":
        return LocalStore(
            settings.home / OBJECTS,
            signing_key,
            settings.public_url or "",
            free_bytes_min=settings.storage_free_bytes_min,
        )
    from comfyfleet.storage.backends.s3 import S3Options, S3Store  # loads boto3, which is an extra and slow

    return S3Store(
        S3Options(
            bucket=settings.s3_bucket or "",
            region=settings.s3_region,
            endpoint_url=settings.s3_endpoint_url,
            access_key=settings.s3_access_key_id,
            secret_key=_secret(settings.s3_secret_access_key) if settings.s3_secret_access_key else None,
        )
    )


def _secret(value: SecretStr) -> Secret:
    return Secret(value.get_secret_value())
