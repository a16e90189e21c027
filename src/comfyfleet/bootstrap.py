"""The only place that constructs and connects."""

import os
import secrets
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import sqlalchemy as sa
from pydantic import SecretStr

from comfyfleet.api.options import ApiOptions
from comfyfleet.db import Database, open_database
from comfyfleet.db.engine import no_offset
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, History, current
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, SchemaTrouble
from comfyfleet.kernel.secret import Secret, new_secret
from comfyfleet.settings import Settings, SettingsError
from comfyfleet.storage import ObjectStore
from comfyfleet.storage.backends.local import LocalStore
from comfyfleet.tenants import Postbox, Role, create_user, find_user
from comfyfleet.tenants.credentials import LinkSigner, create_key
from comfyfleet.tenants.model import SCOPES

OPERATOR_EMAIL = "operator@localhost"


def build_house(settings: Settings, *, clock_offset_s: Callable[[], float] = no_offset) -> House:
    if settings.mode == "embedded":
        make_private_folder(settings.home)
    signing_key = _signing_key(settings)
    pools = settings.pool_urls()

    def database(name: str, url: str) -> Database:
        return open_database(name, url, clock_offset_s=clock_offset_s, pool_size=settings.database_connections)

    return House(
        central=database("central", settings.central_url()),
        pools={name: database(name, url) for name, url in pools.items()},
        default_pool=settings.default_pool or next(iter(pools)),
        store=_build_store(settings, signing_key),
        links=LinkSigner(signing_key, public_url(settings)),
        postbox=Postbox(_secret(settings.smtp_url), settings.mail_from) if settings.smtp_url else None,
    )


@asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    house = build_house(settings)
    try:
        yield house
    finally:
        await house.close()


def build_options(settings: Settings) -> ApiOptions:
    return ApiOptions(
        public_url=public_url(settings),
        cors_origins=settings.cors_origins,
        body_bytes_max=settings.body_bytes_max,
        upload_bytes_max=settings.upload_bytes_max,
        url_ttl_s=settings.url_ttl_s,
        session_ttl_s=settings.session_ttl_s,
        invite_ttl_s=settings.invite_ttl_s,
        password_reset_ttl_s=settings.password_reset_ttl_s,
        requests_per_minute_per_key=settings.requests_per_minute_per_key,
        requests_per_minute_per_tenant=settings.requests_per_minute_per_tenant,
        logins_per_minute=settings.logins_per_minute,
        payment_webhook_secrets=[_secret(each) for each in settings.payment_webhook_secrets],
    )


def public_url(settings: Settings) -> str:
    return settings.public_url or f"http://{_reachable(settings.host)}:{settings.port}"


def databases_of(house: House) -> list[tuple[Database, History]]:
    """Each database with the history of its kind."""
    return [(house.central, CENTRAL_HISTORY), *((pool, TENANT_HISTORY) for pool in house.pools.values())]


async def require_current_schema(house: House) -> None:
    for database, history in databases_of(house):
        found = await current(database)
        if found != history.head():
            problem = f"schema revision {found or 'none'}, this code needs {history.head()}"
            raise SchemaTrouble(database.name, f"{problem}; run `comfyfleet db upgrade`")


async def require_durable_databases(house: House) -> None:
    """An acknowledged job must survive a power cut: refuse a PostgreSQL that was told to forget."""
    problems = []
    for database in house.databases():
        if database.engine.dialect.name != "postgresql":
            continue
        async with database.engine.connect() as connection:
            for name in ("fsync", "synchronous_commit"):
                if await connection.scalar(sa.text(f"SHOW {name}")) == "off":
                    problems.append(f"{database.name}: PostgreSQL runs with {name} = off; turn it on")
    if problems:
        raise SettingsError(problems)


async def ensure_operator_key(house: House, path: Path) -> Secret:
    """The first start makes an operator and a key, kept in a file only its owner can read."""
    if (kept := _read_private_file(path)) is not None:
        return kept
    async with house.control_tx() as tx:
        try:
            operator = await create_user(tx, email=OPERATOR_EMAIL, role=Role.OPERATOR, tenant_id=None)
        except AlreadyExists:
            operator = await find_user(tx, OPERATOR_EMAIL)
        made = await create_key(tx, operator, name="made by `comfyfleet up`", scopes=SCOPES[Role.OPERATOR])
    write_private_file(path, made.secret.reveal() + "\n")
    return made.secret


def make_private_folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(stat.S_IRWXU)


def write_private_file(path: Path, text: str) -> None:
    """Never readable by others, not even for the moment between creating and closing it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _read_private_file(path: Path) -> Secret | None:
    try:
        return Secret(path.read_text().strip())
    except FileNotFoundError:
        return None


def _signing_key(settings: Settings) -> Secret:
    if settings.secret_key is not None:
        return _secret(settings.secret_key)
    path = settings.home / "secret.key"
    if (kept := _read_private_file(path)) is not None:
        return kept
    made = new_secret()
    write_private_file(path, made.reveal() + "\n")
    return made


def _build_store(settings: Settings, signing_key: Secret) -> ObjectStore:
    if settings.storage == "local":
        return LocalStore(settings.home / "objects", signing_key, settings.public_url or "")
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


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 compared, not bound
