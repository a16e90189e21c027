"""An installation that sells one effect to many users, on databases of its own."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from bench.dispatch.ground import SIGNING_KEY, Ground
from comfyfleet import tenants, workflows
from comfyfleet.bootstrap import build_house
from comfyfleet.house import House
from comfyfleet.kernel.ids import UserId, WorkflowId
from comfyfleet.settings import Settings
from comfyfleet.tenants import Home, Tenant
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import NewEffect

USERS = 1_000
SLUG, PRICE = "bench", 10
ACTIVE_JOBS_MAX = 1_000  # nobody works here between two repetitions, so the limit must not be what is measured
GRAPH: dict[str, Any] = {
    "1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "sd_xl_base_1.0.safetensors"}},
    "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "{{prompt}}", "clip": ["1", 1]}},
    "3": {"class_type": "CLIPTextEncode", "inputs": {"text": "blurry, low quality", "clip": ["1", 1]}},
    "4": {"class_type": "EmptyLatentImage", "inputs": {"width": 1024, "height": 1024, "batch_size": 1}},
    "5": {
        "class_type": "KSampler",
        "inputs": {
            "seed": 1,
            "steps": 20,
            "cfg": 8.0,
            "sampler_name": "euler",
            "scheduler": "normal",
            "denoise": 1.0,
            "model": ["1", 0],
            "positive": ["2", 0],
            "negative": ["3", 0],
            "latent_image": ["4", 0],
        },
    },
    "6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
    "7": {"class_type": "SaveImage", "inputs": {"filename_prefix": "bench", "images": ["6", 0]}},
}
PROPERTIES: list[dict[str, Any]] = [
    {"name": "prompt", "type": "text", "placeholder": "prompt", "required": True},
    {"name": "seed", "type": "seed", "node": "5", "input_name": "seed"},
    {
        "name": "steps",
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "node": "5",
        "input_name": "steps",
        "default": 20,
    },
]
ASKED = {"prompt": "a cat in a spacesuit, studio light", "steps": 30}
# Users, keys and wallets, written by the databases themselves. A key was used just now, so that no request has to
# write that down: of a real user's requests one in a minute does.
MEMBERS = """INSERT INTO users (id, tenant_id, email, role, status, created_at)
SELECT md5('user' || n)::uuid, %(tenant)s, 'user-' || n || '@example.com', 'member', 'active', now()
FROM generate_series(0, %(last)s) n"""
KEYS = """INSERT INTO api_keys (id, user_id, name, prefix, secret_hash, scopes, last_used_at, created_at)
SELECT md5('key' || n)::uuid, md5('user' || n)::uuid, 'bench', k.prefix,
 encode(sha256(convert_to('cf_' || k.prefix || '_bench', 'UTF8')), 'hex'), '["read", "write"]',
 now() + interval '1 day', now()
FROM generate_series(0, %(last)s) n CROSS JOIN LATERAL (SELECT substr(md5('key' || n), 1, 16) AS prefix) k"""
WALLETS = """INSERT INTO token_wallets (id, tenant_id, user_id, balance, created_at)
SELECT md5('wallet' || n)::uuid, %(tenant)s, md5('user' || n)::uuid, 1000000000, now()
FROM generate_series(0, %(last)s) n"""
ENDED = """UPDATE ai_jobs SET status = 'completed', completed_at = now() WHERE status IN ('queued', 'processing')"""


@dataclass(frozen=True, slots=True)
class Studio:
    central_url: str
    pool_url: str
    tenant: Tenant
    workflow_id: WorkflowId

    @property
    def home(self) -> Home:
        return Home(self.tenant.id, self.tenant.slug, self.tenant.pool, self.tenant.status)

    def end_all(self) -> None:
        """As if workers had: users have room again."""
        with psycopg.connect(self.pool_url, autocommit=True) as connection:
            connection.execute(ENDED)
            connection.execute("VACUUM ANALYZE ai_jobs")


@dataclass
class Round:
    """Users in turn, so that no two who create at once are the same."""

    size: int
    _at: int = -1

    def next(self) -> int:
        self._at = (self._at + 1) % self.size
        return self._at


def user_id(number: int) -> UserId:
    return UserId(_hashed(f"user{number}"))


def wallet_id(number: int) -> UUID:
    return _hashed(f"wallet{number}")


def key_of(number: int) -> str:
    return f"cf_{_hashed(f'key{number}').hex[:16]}_bench"


def _hashed(text: str) -> UUID:
    """As `md5(text)::uuid` makes it."""
    return UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest())


def settings_of(central_url: str, pool_url: str) -> dict[str, str]:
    """As the environment names them, without their prefix."""
    return {
        "DATABASE_URL": central_url,
        "POOLS": json.dumps({"main": pool_url}),
        "SECRET_KEY": SIGNING_KEY,
        "LOG_LEVEL": "warning",
        "ENGINE": "false",
        "MAX_ACTIVE_JOBS_PER_USER": str(ACTIVE_JOBS_MAX),
        "REQUESTS_PER_MINUTE_PER_KEY": "1000000",
        "REQUESTS_PER_MINUTE_PER_TENANT": "1000000",
    }


def make_databases(ground: Ground, name: str, *, flushes: bool = True) -> tuple[str, str]:
    """A fresh central one, and a fresh pool."""
    central_url = ground.central(f"{name}_central", flushes=flushes)
    pool_url = ground.cluster.create(f"{name}_pool", template="bench_tenant")
    if not flushes:
        ground.cluster.execute(f'ALTER DATABASE "{name}_pool" SET synchronous_commit = off')
    return central_url, pool_url


@asynccontextmanager
async def open_house(ground: Ground, name: str, central_url: str, pool_url: str) -> AsyncIterator[House]:
    """In this process. Its objects lie where a server's of that name lie."""
    (ground.folder / name).mkdir()
    settings = Settings(
        home=ground.folder / name / "home",
        database_url=central_url,
        pools={"main": pool_url},
        secret_key=SIGNING_KEY,
        max_active_jobs_per_user=ACTIVE_JOBS_MAX,
        database_connections=1,
    )
    house = build_house(settings)
    try:
        yield house
    finally:
        await house.close()


@asynccontextmanager
async def open_studio(ground: Ground, name: str, *, flushes: bool = True) -> AsyncIterator[tuple[Studio, House]]:
    urls = make_databases(ground, name, flushes=flushes)
    async with open_house(ground, name, *urls) as house:
        yield await _furnish(house, *urls), house


async def _furnish(house: House, central_url: str, pool_url: str) -> Studio:
    new = workflows.prepare_version(json.dumps(GRAPH).encode(), properties=read_properties(PROPERTIES), output_node="7")
    await workflows.keep_graph(house.store, new)
    async with house.control_tx() as tx:
        flow = await workflows.add_workflow(tx, new, slug=SLUG, name="Bench")
        await effects.add_effect(tx, NewEffect(SLUG, "Bench", credits_cost=PRICE, waits_for_worker=True), workflow=SLUG)
        await effects.publish_effect(tx, SLUG)
        home = await tenants.create_tenant(tx, slug="bench", name="Bench", pool="main")
    values = {"tenant": home.id, "last": USERS - 1}
    with psycopg.connect(central_url, autocommit=True) as central:
        central.execute(MEMBERS, values)
        central.execute(KEYS, values)
        central.execute("VACUUM ANALYZE")
    with psycopg.connect(pool_url, autocommit=True) as pool:
        pool.execute(WALLETS, values)
        pool.execute("VACUUM ANALYZE")
    return Studio(central_url, pool_url, home, flow.id)
