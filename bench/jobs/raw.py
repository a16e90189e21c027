"""The limit of one creation: its bare statements, in the transactions it has, on the driver alone.

What creating a job cannot do without, each thing once: who asks, what the effect is, and then in one durable
transaction the user's wallet held, the key and the limit looked up, video, job, payment and submission written,
webhooks asked for.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg

from bench.jobs.studio import GRAPH, PRICE, SLUG, USERS, Round, Studio, key_of, user_id
from comfyfleet.kernel.ids import new_id

Connection = psycopg.AsyncConnection[Any]

KEY = """SELECT k.id, k.secret_hash, k.scopes, k.expires_at, k.last_used_at, u.id, u.email, u.role, t.id, t.slug,
 t.pool, t.status
FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN tenants t ON t.id = u.tenant_id
WHERE k.prefix = %(prefix)s AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
 AND u.status <> 'disabled'"""
OFFER = """SELECT e.*, w.*, v.* FROM effects e JOIN workflows w ON w.id = e.workflow_id
JOIN workflow_versions v ON v.workflow_id = w.id AND v.version = w.version WHERE e.slug = %(slug)s"""
HOLD = "SELECT id, balance FROM token_wallets WHERE tenant_id = %(tenant)s AND user_id = %(user)s FOR UPDATE"
BEFORE = """SELECT id, request_digest FROM ai_jobs
WHERE tenant_id = %(tenant)s AND user_id = %(user)s AND idempotency_key = %(key)s"""
ACTIVE = """SELECT id FROM ai_jobs WHERE tenant_id = %(tenant)s AND user_id = %(user)s
 AND status IN ('queued', 'processing') LIMIT 1000"""
VIDEO = """INSERT INTO videos (id, tenant_id, user_id, title, status, job_id, created_at, updated_at)
VALUES (%(video)s, %(tenant)s, %(user)s, 'Bench', 'processing', %(job)s, clock_timestamp(), clock_timestamp())"""
JOB = """INSERT INTO ai_jobs (id, tenant_id, user_id, effect_id, workflow_id, structure_hash, provider, status,
 priority, reserved_tokens, expected_s, idempotency_key, payload, created_at, effect_slug, workflow_version, video_id,
 properties, request_digest)
VALUES (%(job)s, %(tenant)s, %(user)s, %(workflow)s, %(workflow)s, 'structure', 'self_hosted', 'queued', 0,
 %(price)s, 1, %(key)s, %(payload)s, clock_timestamp(), 'bench', 1, %(video)s, '{"prompt": "a cat"}', %(digest)s)
RETURNING id, created_at"""
RESERVE = """INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at)
VALUES (%(transaction)s, %(tenant)s, %(wallet)s, 'JOB_RESERVE', -%(price)s::bigint, %(job)s, clock_timestamp())"""
SPEND = """UPDATE token_wallets SET balance = balance - %(price)s
WHERE tenant_id = %(tenant)s AND id = %(wallet)s AND balance >= %(price)s RETURNING balance"""
SUBMIT = "INSERT INTO submissions (job_id, tenant_id, created_at) VALUES (%(job)s, %(tenant)s, clock_timestamp())"
WANTING = "SELECT * FROM webhook_endpoints WHERE tenant_id = %(tenant)s AND is_active AND is_listed ORDER BY id"
READS: tuple[LiteralString, ...] = (KEY, OFFER)
WRITES: tuple[LiteralString, ...] = (HOLD, BEFORE, ACTIVE, VIDEO, JOB, RESERVE, SPEND, SUBMIT, WANTING)
WARM_UP_SHARE = 0.2


@dataclass
class Writer:
    """One creation at a time, on a connection to each database."""

    studio: Studio
    central: Connection
    pool: Connection
    payload: str
    created: int = 0

    async def create(self, number: int) -> None:
        for statement in READS:
            async with self.central.transaction():
                cursor = await self.central.execute(statement, {"prefix": key_of(number)[3:19], "slug": SLUG})
                await cursor.fetchall()
        values = {
            "tenant": self.studio.tenant.id,
            "user": user_id(number),
            "workflow": self.studio.workflow_id,
            "payload": self.payload,
            "price": PRICE,
            "job": new_id(),
            "video": new_id(),
            "transaction": new_id(),
            "key": str(new_id()),
            "digest": "d" * 64,
        }
        async with self.pool.transaction():
            for statement in WRITES:
                cursor = await self.pool.execute(statement, values)
                rows = await cursor.fetchall() if cursor.description else []
                if statement is HOLD:
                    values["wallet"] = rows[0][0]
        self.created += 1


@dataclass
class RawCreation:
    studio: Studio
    concurrency: int
    numbers: Round = field(default_factory=lambda: Round(USERS))

    async def measure(self, seconds: float) -> float:
        """Jobs a second; the first fifth is for warming up."""
        payload = json.dumps({"workflow": GRAPH, "properties": {}, "assets": [], "input_url": None, "outputs": []})
        async with AsyncExitStack() as stack:
            writers = [await self._open(stack, payload) for _ in range(self.concurrency)]
            await self._all_write(writers, seconds * WARM_UP_SHARE)
            before, began = _total(writers), time.perf_counter()
            await self._all_write(writers, seconds)
            return (_total(writers) - before) / (time.perf_counter() - began)

    async def _open(self, stack: AsyncExitStack, payload: str) -> Writer:
        central = await self._connect(stack, self.studio.central_url)
        return Writer(self.studio, central, await self._connect(stack, self.studio.pool_url), payload)

    async def _connect(self, stack: AsyncExitStack, url: str) -> Connection:
        return await stack.enter_async_context(
            await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=None)
        )

    async def _all_write(self, writers: Sequence[Writer], seconds: float) -> None:
        until = time.perf_counter() + seconds

        async def write(writer: Writer) -> None:
            while time.perf_counter() < until:
                await writer.create(self.numbers.next())

        await asyncio.gather(*(write(writer) for writer in writers))


def _total(writers: Sequence[Writer]) -> int:
    return sum(writer.created for writer in writers)
