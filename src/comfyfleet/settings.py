"""Every setting, once: `COMFYFLEET_` in the environment, or the same names in a TOML file.

The environment wins over the file. A name that is not here is refused, not ignored: a typo in a setting
that matters should stop the start. `docs/reference/settings.md` is made from this file.
"""

import base64
import binascii
import os
import re
import sys
import tomllib
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, SecretStr, TypeAdapter, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableSetting

from comfyfleet.aws.region import require_region
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.hosts import is_loopback

PREFIX = "COMFYFLEET_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
# Read by those who need them, and no settings of a server or a worker.
OTHER_VARIABLES = frozenset(PREFIX + name for name in ("CONFIG", "API_KEY", "URL", "OPERATOR_KEY"))
CONFIG_FILE = "comfyfleet.toml"
KEY_CHARS_MIN = 32
TTL_S_MAX = 366 * 86_400
WEBHOOK_SECRET_BYTES_MIN = 24
SMTP_SCHEMES = ("smtp", "smtp+starttls", "smtps")
NO_SUCH = "there is no such setting (see docs/reference/settings.md)"
Source = Literal["default", "environment", "file", "command line", "given"]
WELL_KNOWN = ("change", "secret", "example", "default", "password", "0000", "1234", "xxxx")


class SettingsError(FleetError):
    """The settings do not make sense. Nothing was started."""

    code = "invalid_settings"
    text = "{problems}"

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems="\n".join(problems))


class InForce(NamedTuple):
    """A setting, for people to read. A secret has no value here, only whether it is set."""

    name: str
    value: Any
    source: Source
    description: str
    is_secret: bool
    is_set: bool


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, hide_input_in_errors=True
    )

    _sources: dict[str, Source] = PrivateAttr(default_factory=dict)

    mode: Literal["embedded", "production"] = Field(
        "embedded", description="`production` refuses to start with anything that is only fit for trying out."
    )
    home: Path = Field(
        Path(".comfyfleet"), description="Where embedded files live: databases, objects, generated secrets."
    )

    host: str = Field("127.0.0.1", description="Address to listen on. `0.0.0.0` to be reached from other machines.")
    port: int = Field(8700, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    public_url: str | None = Field(
        None, description="How users reach this server, such as `https://fleet.example.com`. Default: host and port."
    )
    replica_url: str | None = Field(
        None,
        description="How other replicas reach this one, such as `http://10.0.0.5:8700`, to pass live events on. "
        "Default: the address and port it listens on.",
    )
    trusted_proxies: list[str] = Field(
        ["127.0.0.1"], description="Addresses whose `X-Forwarded-*` headers are believed."
    )
    cors_origins: list[str] = Field([], description="Other web origins that may call the API from a browser.")
    connections_max: int = Field(
        10_000,
        ge=10,
        description="Connections open at once; one more is answered 503 and closed. Three quarters of the open files"
        " that the system allows, where that is less.",
    )
    connections_per_address_max: int = Field(
        4_000,
        ge=1,
        description="Of these from one address. It does not hold for `trusted_proxies`. A worker holds a few: lower it"
        " only below what your workers behind one address need.",
    )
    shutdown_grace_s: float = Field(2.0, ge=0, le=300, description="How long open requests may go on after a stop.")

    database_url: SecretStr | None = Field(
        None, description="The central database: `postgresql://…` or `sqlite:///path`. Default: SQLite in `home`."
    )
    pools: dict[str, SecretStr] = Field(
        {}, description="Tenant pools, name to database URL (a JSON object). Default: one SQLite pool named `main`."
    )
    default_pool: str | None = Field(None, description="Where new tenants are placed. Default: the first of `pools`.")
    database_connections: int = Field(10, ge=1, le=200, description="Connections kept open per PostgreSQL database.")

    prepare_statements: bool = Field(
        True,
        description="Prepare what is run often. Turn off behind a PgBouncer that keeps none (older than 1.22,"
        " or with `max_prepared_statements = 0`).",
    )

    secret_key: SecretStr | None = Field(
        None, description="Signs links and local object URLs. At least 32 characters. Embedded: made on first start."
    )
    payment_webhook_secrets: list[SecretStr] = Field(
        [], description="Standard Webhooks secrets (`whsec_…`) of the shop; several while one is being replaced."
    )
    get_tokens_text: str | None = Field(
        None, max_length=500, description="What users read where tokens run out, such as whom to ask for more."
    )
    get_tokens_url: str | None = Field(
        None, max_length=2000, description="Where users get more tokens, such as `https://shop.example.com/tokens`."
    )

    webhook_networks: list[IPv4Network | IPv6Network] = Field(
        [],
        description="Networks that tenants' webhooks may reach although they are not public, such as `127.0.0.0/8`. "
        "Names that lead anywhere else that is not public are refused when the connection is made.",
    )

    notification_networks: list[IPv4Network | IPv6Network] = Field(
        [],
        description="Networks that operators' notifications by webhook may reach although they are not public, such as "
        "`10.0.0.0/8`.",
    )
    alerts_every_s: float = Field(
        60.0, ge=1, le=3600, description="How often the conditions that operators are notified of are looked at."
    )
    alerts_for_s: float | None = Field(
        None, ge=0, le=86_400, description="How long a condition holds before it fires. Default: each its own."
    )
    alerts_resolve_s: float | None = Field(
        None,
        ge=0,
        le=86_400,
        description="How long it must not hold before it is resolved. Default: twice as long as to fire, and at least"
        " 5 minutes.",
    )
    alerts_reminder_s: float = Field(
        14_400.0, ge=0, description="How often operators are reminded of an alert that still fires; 0: not at all."
    )

    storage: Literal["local", "s3"] = Field("local", description="Where objects live.")
    s3_bucket: str | None = Field(None, description="Bucket; it must exist and be private.")
    s3_region: str = Field("us-east-1", description="Region the bucket is in.")
    s3_endpoint_url: str | None = Field(None, description="For S3-compatible stores. Default: AWS.")
    s3_access_key_id: str | None = Field(None, description="Default: the AWS credential chain.")
    s3_secret_access_key: SecretStr | None = Field(None, description="Goes with `s3_access_key_id`.")
    url_ttl_s: int = Field(900, ge=1, le=86_400, description="How long a signed upload or download URL works.")
    upload_bytes_max: int = Field(5 * 1024**3, ge=1, description="The largest file a user may upload.")

    storage_bytes_per_tenant_max: int | None = Field(
        None,
        ge=0,
        description="What a tenant's files may have together, uploads on their way and results included. Beyond it"
        " uploads are refused; results of jobs never are. Default: no limit. Operators may set another for a tenant.",
    )
    storage_free_bytes_min: int = Field(
        1024**3,
        ge=0,
        description="Local store: uploads are refused where less than this would stay free on its disk, so that"
        " databases there still work.",
    )
    effect_asset_bytes_max: int = Field(
        32 * 1024**2, ge=1024, le=256 * 1024**2, description="The largest asset of an effect, such as its preview."
    )
    media_pixels_max: int = Field(
        64_000_000, ge=1, description="The most pixels a picture, or a frame of a film, may have."
    )
    media_duration_s_max: float = Field(600.0, gt=0, description="The longest film a user may upload.")
    media_image_bytes_max: int = Field(64 * 1024**2, ge=1, description="The largest picture a user may upload.")
    media_probe_s: float = Field(
        20.0, ge=1, le=300, description="How long looking at an upload may take, by the clock and of CPU."
    )
    media_probe_memory_bytes: int = Field(
        1024**3, ge=256 * 1024**2, description="Memory for that; a picture needs about nine bytes a pixel."
    )
    media_probes_max: int = Field(2, ge=1, le=64, description="Uploads that one replica looks at at the same time.")

    body_bytes_max: int = Field(1024**2, ge=1024, description="The largest JSON body; larger ones get 413.")
    requests_per_minute_per_key: int = Field(600, ge=1, description="Per key or session and replica; then 429.")
    requests_per_minute_per_tenant: int = Field(3000, ge=1, description="Per tenant and replica; then 429.")
    thumbs_per_minute_per_key: int = Field(
        6000,
        ge=1,
        description="Small pictures per key or session and replica, counted apart; five times as many per tenant.",
    )
    logins_per_minute: int = Field(
        10,
        ge=1,
        description="Logins tried for one email from one network; then 429. Five times as many for all emails from one"
        " network, ten times as many for one email from networks its user has not logged in from.",
    )

    session_ttl_s: int = Field(14 * 86_400, ge=60, le=TTL_S_MAX, description="How long a web login lasts.")
    invite_ttl_s: int = Field(7 * 86_400, ge=60, le=TTL_S_MAX, description="How long an invitation can be accepted.")
    password_reset_ttl_s: int = Field(3600, ge=60, le=TTL_S_MAX, description="How long a password reset link works.")
    smtp_url: SecretStr | None = Field(
        None,
        description="`smtp://`, `smtp+starttls://` or `smtps://user:pass@host:port`. Without it links are printed.",
    )
    mail_from: str = Field(
        "comfyfleet@localhost", description="Sender of invitations, password resets and notifications."
    )

    lease_ttl_s: float = Field(
        90.0,
        ge=1,
        le=86_400,
        description="How long a lease lives after a heartbeat. A silent worker keeps its name as long, but at least "
        "10 s, against one that cannot show to be that worker.",
    )
    lease_grace_s: float = Field(15.0, ge=1, le=3600, description="How long one lives that no heartbeat has confirmed.")
    lease_ahead: int = Field(1, ge=0, le=100, description="Leases a worker may hold beyond what it runs at once.")
    max_active_jobs_per_user: int = Field(5, ge=1, le=10_000, description="Jobs a user may have queued or running.")
    run_jobs_per_tenant_max: int = Field(
        100, ge=1, le=10_000, description="Jobs that a tenant's pipeline runs may have queued or running together."
    )
    max_job_priority: int = Field(10, ge=0, le=100, description="The highest priority a tenant may ask for.")
    max_attempts: int = Field(3, ge=1, le=100, description="Leases a job may use up before it fails.")
    max_releases: int = Field(20, ge=0, le=1000, description="How often a worker may give a job back for nothing.")
    run_deadline_s: float = Field(3600.0, ge=1, description="The longest run, for workflows that name none.")
    queue_deadline_s: float = Field(86_400.0, ge=1, description="The longest wait; then the job fails and is refunded.")
    block_cooldown_s: float = Field(
        60.0,
        ge=0,
        description="How long a worker leaves a workflow alone that failed. Twice as long after each further failure,"
        " up to an hour. 0: not at all.",
    )
    max_failures_before_block: int = Field(
        1,
        ge=1,
        description="Failures of a workflow on a worker before that; fewer change nothing. A fault of the server itself"
        " blocks at once.",
    )
    max_fleet_workers: int = Field(
        50, ge=1, description="Live workers a fleet may have that has no maximum of its own."
    )
    max_workers_without_fleet: int = Field(50, ge=1, description="Live workers that belong to no fleet, in all.")
    registrations_per_minute: int = Field(
        10, ge=1, description="Worker registrations with a wrong secret per address; then 429."
    )
    approve_workers: bool = Field(True, description="Workers may work as soon as they are registered.")
    aws_region: str | None = Field(
        None,
        description="Region of the Auto Scaling groups and of CloudWatch, such as `eu-central-1`. Default: `AWS_REGION`"
        " or `AWS_DEFAULT_REGION` of the environment.",
    )
    validate_asg_instance: bool = Field(
        False,
        description="Ask AWS whether a worker named `i-…` is in an Auto Scaling group of that region. While AWS cannot"
        " be asked workers come in, and their log says `asg_check_skipped`. Needs the `aws` extra; in production also"
        " a region.",
    )
    asg_groups: list[str] = Field(
        [], description="Auto Scaling groups whose instances may register (a JSON list). Default: any of the region."
    )
    publish_cloudwatch: bool = Field(
        False,
        description="Publish eight metrics of each fleet to CloudWatch every minute, namespace `ComfyUI/Workers`. Needs"
        " the `aws` extra and a region.",
    )
    stale_worker_s: float = Field(7200.0, ge=60, description="Silent for so long, a worker is taken for gone.")
    retention_days: int = Field(
        30,
        ge=1,
        description="How long ended dispatches, worker events, untouched videos, results of jobs and workers that are"
        " gone are kept.",
    )
    runs_mirror: Path | None = Field(
        None, description="A local folder to which everything that runs of pipelines make is copied, by its name."
    )
    upkeep: bool = Field(True, description="Run the upkeep loops in this process. At least one replica must.")

    engine: bool = Field(
        True,
        description="`comfyfleet up` starts the built-in engine and a worker on it, and sets up a demo. "
        "Off: the control plane alone.",
    )
    engine_port: int = Field(0, ge=0, le=65535, description="Port of that engine, on 127.0.0.1; 0 takes a free one.")
    comfyui: str | None = Field(
        None, description="A ComfyUI that `comfyfleet up` uses instead, such as `http://127.0.0.1:8188`."
    )

    autoscale: bool = Field(
        False,
        description="`comfyfleet up` runs no worker of its own: the demo's fleet scales from zero to three workers "
        "with its queue, each a process with a built-in engine. For trying out how fleets scale; Linux only.",
    )

    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port of `/metrics` for Prometheus; 0 takes a free one and logs it. Default: none, nothing counts.",
    )
    metrics_host: str = Field(
        "127.0.0.1",
        description="Address of that port. It asks for no key: make it reachable for Prometheus only.",
    )
    metrics_tenants_max: int = Field(
        0, ge=0, le=1000, description="Tenants that have jobs of their own in `/metrics`, by id; others are one."
    )

    trace_url: str | None = Field(
        None,
        description="Where operators see a trace, such as `https://jaeger.example.com/trace/{trace_id}`: the console"
        " links to it. Traces themselves are switched on by `OTEL_EXPORTER_OTLP_ENDPOINT`.",
    )

    log_format: Literal["auto", "json", "console"] = Field("auto", description="`auto`: console on a terminal.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least level to log.")

    @field_validator("public_url", "replica_url", "s3_endpoint_url", "comfyui")
    @classmethod
    def _is_a_web_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an address such as https://fleet.example.com")
        require_callable(value)
        return value.rstrip("/")

    @field_validator("aws_region")
    @classmethod
    def _is_a_region(cls, value: str | None) -> str | None:
        return None if value is None else require_region(value)

    @field_validator("asg_groups")
    @classmethod
    def _are_groups(cls, value: list[str]) -> list[str]:
        for name in value:
            if not 1 <= len(name) <= 255 or not name.isprintable():
                raise ValueError(f"has the name {name!r}; use 1 to 255 characters")
        return value

    @field_validator("get_tokens_url")
    @classmethod
    def _can_be_opened(cls, value: str | None) -> str | None:
        """A link in a page: nothing that a browser would run."""
        if value is not None and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
            raise ValueError("must be an address such as https://shop.example.com/tokens")
        return value

    @field_validator("trace_url")
    @classmethod
    def _leads_to_a_trace(cls, value: str | None) -> str | None:
        """A link in a page, too."""
        if value is None:
            return None
        parts = urlsplit(value)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
        if not fits or "{trace_id}" not in value.removeprefix(f"{parts.scheme}://{parts.netloc}"):
            raise ValueError(
                "must be an http or https URL with {trace_id} after the host, such as "
                "https://jaeger.example.com/trace/{trace_id}"
            )
        return value

    @field_validator("database_url")
    @classmethod
    def _is_a_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            _check_database_url(value)
        return value

    @field_validator("pools")
    @classmethod
    def _are_databases(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, url in value.items():
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
                raise ValueError(f"pool name {name!r}: use letters, digits, '-' and '_'")
            _check_database_url(url)
        return value

    @field_validator("payment_webhook_secrets")
    @classmethod
    def _are_webhook_secrets(cls, value: list[SecretStr]) -> list[SecretStr]:
        for secret in value:
            mark, _, rest = secret.get_secret_value().partition("_")
            try:
                size = len(base64.b64decode(rest, validate=True)) if mark == "whsec" else 0
            except binascii.Error:
                size = 0
            if size < WEBHOOK_SECRET_BYTES_MIN:
                raise ValueError("each must be whsec_ and 24 random bytes or more in base64")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _is_a_mail_server(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            parts = urlsplit(value.get_secret_value())
            if parts.scheme not in SMTP_SCHEMES or not parts.hostname:
                raise ValueError(f"must start with {', '.join(f'{each}://' for each in SMTP_SCHEMES)} and name a host")
        return value

    @field_validator("mail_from")
    @classmethod
    def _is_one_line(cls, value: str) -> str:
        if not value.isprintable() or "@" not in value:
            raise ValueError("must be an email address")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if problems := [*self._contradictions(), *(self._unfit_for_production() if self.mode == "production" else [])]:
            raise ValueError("\n".join(problems))
        return self

    def _unfit_for_autoscale(self) -> list[str]:
        """Its machines run the built-in engine, each on a port of its own, and end with this process."""
        problems = []
        if self.comfyui is not None:
            problems.append("autoscale: starts machines with the built-in engine; leave out comfyui, or autoscale")
        if not self.engine:
            problems.append("autoscale: starts machines with the built-in engine, but engine is off; turn it on")
        if self.engine_port:
            problems.append("autoscale: each machine takes a free port for its engine; leave out engine_port")
        if not self.upkeep:
            problems.append("autoscale: fleets are scaled by the upkeep loops, but upkeep is off; turn it on")
        if sys.platform != "linux":
            problems.append(f"autoscale: needs Linux, and this is {sys.platform}; start without it")
        return problems

    def _contradictions(self) -> list[str]:
        problems = self._unfit_for_autoscale() if self.autoscale else []
        if self.storage == "s3" and not self.s3_bucket:
            problems.append("s3_bucket: is needed when storage is 's3'")
        if self.storage == "local" and self.s3_bucket:
            problems.append("s3_bucket: is set, but storage is 'local'; set storage to 's3'")
        if bool(self.s3_access_key_id) != bool(self.s3_secret_access_key):
            problems.append("s3_access_key_id: goes together with s3_secret_access_key; set both or neither")
        if self.default_pool is not None and self.default_pool not in self.pool_urls():
            problems.append(f"default_pool: {self.default_pool!r} is none of the pools ({', '.join(self.pool_urls())})")
        urls = [_same_spelling(url) for url in (self.central_url(), *self.pool_urls().values())]
        if len(set(urls)) != len(urls):
            problems.append("pools: every pool and the central database need a database of their own")
        if self.publish_cloudwatch and self.region() is None:
            problems.append("aws_region: is needed when publish_cloudwatch is on; name the region")
        if self.asg_groups and not self.validate_asg_instance:
            problems.append("asg_groups: is set, but nothing is checked; set validate_asg_instance to true")
        if self.secret_key is not None and len(self.secret_key.get_secret_value()) < KEY_CHARS_MIN:
            problems.append(f"secret_key: must have at least {KEY_CHARS_MIN} characters")
        return problems

    def _unfit_for_production(self) -> list[str]:
        problems = []
        if self.secret_key is None:
            problems.append("secret_key: must be set in production (32 random characters or more)")
        elif _looks_like_a_default(self.secret_key.get_secret_value()):
            problems.append("secret_key: looks like a default or an example; make one: openssl rand -base64 32")
        problems += [
            "payment_webhook_secrets: looks like a default or an example; take the one your shop made"
            for secret in self.payment_webhook_secrets
            if _looks_like_a_default(secret.get_secret_value().removeprefix("whsec_"))
        ]
        if any("*" in origin for origin in self.cors_origins):
            problems.append("cors_origins: '*' would let every web site act for your users; name the origins")
        if self.public_url is None:
            problems.append("public_url: must be set in production; links and cookies depend on it")
        elif not self.public_url.startswith("https://") and not is_loopback(urlsplit(self.public_url).hostname or ""):
            problems.append("public_url: must be https in production; logins could be read on the way")
        if self.validate_asg_instance and self.region() is None:
            problems.append(
                "aws_region: must be set in production while validate_asg_instance is on; without it every instance"
                " would be let in unchecked"
            )
        if "*" in self.trusted_proxies:
            problems.append("trusted_proxies: '*' lets every client choose its address; name your proxies")
        if self.database_url is None:
            problems.append("database_url: must be set in production; the default is a file for trying out")
        if not self.pools:
            problems.append("pools: must be set in production; the default is a file for trying out")
        return problems

    def in_force(self) -> list[InForce]:
        """All of them, with where each came from. Addresses are shown without what logs in to them."""
        found = []
        for name, field in type(self).model_fields.items():
            value, is_secret = getattr(self, name), "Secret" in str(field.annotation)
            source = self._sources.get(name, "given" if name in self.model_fields_set else "default")
            shown = None if is_secret else _without_login(TypeAdapter(Any).dump_python(value, mode="json"))
            is_set = value not in (None, [], {})
            if name == "pools":
                shown = sorted(value)  # their names; the addresses are secret
            found.append(InForce(name, shown, source, field.description or "", is_secret, is_set))
        return found

    def region(self) -> str | None:
        """Of AWS; as its own tools find it where the setting is not given."""
        return self.aws_region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None

    def central_url(self) -> str:
        return self.database_url.get_secret_value() if self.database_url else f"sqlite:///{self.home}/central.sqlite"

    def pool_urls(self) -> dict[str, str]:
        if self.pools:
            return {name: url.get_secret_value() for name, url in self.pools.items()}
        return {"main": f"sqlite:///{self.home}/pool-main.sqlite"}


def load_settings(**given: Any) -> Settings:
    """Read the environment and the TOML file; `given` (the command line) wins over both."""
    present = {name.upper() for name in os.environ if name.upper().startswith(PREFIX)}
    strange = present - {_variable(name) for name in Settings.model_fields} - OTHER_VARIABLES
    if unknown := sorted(strange - _of_a_worker(strange)):
        raise SettingsError([f"{name}: {NO_SUCH}" for name in unknown])
    from_file = {name: value for name, value in _read_file().items() if _variable(name) not in present}
    try:
        found = Settings(**{**from_file, **given})
    except ValidationError as error:
        raise SettingsError(_explain(error)) from None
    except UnreadableSetting as error:  # a list or an object that is no JSON
        named = re.search(r'field "(\w+)"', str(error))
        field = _variable(named.group(1)) if named else "a setting"
        raise SettingsError([f"{field}: is not JSON; lists and objects are written as JSON"]) from None
    present_names = (name for name in Settings.model_fields if _variable(name) in present)
    found._sources = {
        **dict.fromkeys(present_names, "environment"),
        **dict.fromkeys(from_file, "file"),
        **dict.fromkeys(given, "command line"),
    }
    return found


def _without_login(value: Any) -> Any:
    """An address may carry a name and a password."""
    if not isinstance(value, str) or "@" not in value or "://" not in value:
        return value
    return re.sub(r"(?<=://)[^/@]*@", "…@", value)


def _of_a_worker(names: set[str]) -> set[str]:
    """A worker on this machine may be told its settings in the same place."""
    if not names:
        return set()
    from comfyfleet.worker.options import WorkerSettings  # loads what speaks to ComfyUI: not for every command

    return {_variable(name) for name in WorkerSettings.model_fields}


def _variable(name: str) -> str:
    return f"{PREFIX}{name}".upper()


def _read_file() -> dict[str, Any]:
    named = os.environ.get(CONFIG_VARIABLE)
    path = Path(named or CONFIG_FILE)
    if not path.exists():
        if named:
            raise SettingsError([f"{CONFIG_VARIABLE}: there is no file {path}"])
        return {}
    try:
        found = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SettingsError([f"{path}: {problem}"]) from None
    found.pop("worker", None)  # the table of a worker on this machine
    return found


def _explain(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        field = ".".join(str(part) for part in problem["loc"])
        text = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            text = NO_SUCH
        lines.append(f"{field}: {text}" if field else text)
    return lines


def require_callable(url: str) -> None:
    """Raises ValueError for what the HTTP client would refuse later, in the middle of its work."""
    import httpx2  # heavy: most commands need no client

    try:
        httpx2.URL(url)
    except httpx2.InvalidURL as problem:
        raise ValueError(f"is no URL that can be called: {problem}") from None


def _check_database_url(url: SecretStr) -> None:
    from sqlalchemy import make_url  # heavy: a worker reads this file, and has no database
    from sqlalchemy.exc import ArgumentError

    wanted = "must be postgresql://user:password@host/name or sqlite:///path"
    try:
        parsed = make_url(url.get_secret_value())
    except ArgumentError:
        raise ValueError(wanted) from None
    if parsed.drivername not in ("postgresql", "postgres", "sqlite") or parsed.database in (None, "", ":memory:"):
        raise ValueError(wanted)


def _same_spelling(url: str) -> str:
    """Two ways to write one SQLite file are one file."""
    from sqlalchemy import make_url

    parsed = make_url(url)
    return str(Path(parsed.database or "").resolve()) if parsed.drivername == "sqlite" else url


def _looks_like_a_default(secret: str) -> bool:
    return len(set(secret)) < 8 or any(word in secret.lower() for word in WELL_KNOWN)
