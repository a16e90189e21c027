"""What the large pages show, written by the databases themselves: jobs, a tree of pictures, a day of a fleet."""

import io
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
from PIL import Image, ImageDraw

from bench.jobs.studio import Studio
from comfyfleet.house import House
from comfyfleet.kernel.ids import FileId, RunId, TenantId, UserId
from comfyfleet.storage.model import thumb_key

# Ids grow with time, as UUIDv7 do.
ID = "(lpad(to_hex({at}), 12, '0') || '70008000' || substr(md5('{of}' || n), 1, 12))::uuid"
JOB_ID = ID.format(at="n", of="job")
JOBS = f"""INSERT INTO ai_jobs (id, tenant_id, user_id, effect_id, workflow_id, structure_hash, provider, status,
 priority, reserved_tokens, expected_s, idempotency_key, payload, created_at, started_at, completed_at, effect_slug,
 workflow_version, properties, request_digest)
SELECT {JOB_ID}, %(tenant)s, %(user)s, %(workflow)s, %(workflow)s, 'structure', 'self_hosted', 'completed', 0, 10, 1,
 md5('once' || n), '{{"workflow": {{}}}}', now() - (%(rows)s - n) * interval '1 minute', now(), now(), 'bench', 1,
 '{{"prompt": "a cat on the moon"}}', md5('digest' || n)
FROM generate_series(1, %(rows)s) n"""

# A tenth of the pictures is of the first step; the others are children of its best twenty, and theirs.
CANDIDATES = """INSERT INTO candidates (id, tenant_id, run_id, position, parent_id, job_id, file_id, image_index, seed,
 status, is_passed, elo, rank, votes, children, started, failures, created_at)
SELECT c.id, %(tenant)s::uuid, %(run)s::uuid, c.position,
 CASE c.position WHEN 0 THEN NULL WHEN 1 THEN md5('candidate' || n %% 20)::uuid
  ELSE md5('candidate' || %(first)s + n %% 40)::uuid END,
 gen_random_uuid(), md5('file' || n)::uuid, 0, n, 'active', true, 1000 + n %% 97, -(1000 + n %% 97), 3, 0, 0, 0, now()
FROM generate_series(0, %(rows)s - 1) n CROSS JOIN LATERAL (SELECT md5('candidate' || n)::uuid AS id,
 CASE WHEN n < %(first)s THEN 0 WHEN n < %(first)s * 6 THEN 1 ELSE 2 END AS position) c"""
FILES = """INSERT INTO files (id, tenant_id, user_id, name, disk, path, mime_type, size, status, created_at, stored_at)
SELECT md5('file' || n)::uuid, %(tenant)s::uuid, %(user)s::uuid, n || '.png', 'local', 'bench/pictures/' || n,
 'image/png', 1, 'stored', now(), now() FROM generate_series(0, %(rows)s - 1) n"""
STEPS = """UPDATE pipeline_run_steps s SET made = c.made, alive = c.made, started = c.made,
 top = CASE WHEN s.position < 2 THEN 20 END, approved_by = 'bench',
 approved_at = CASE WHEN s.position < 2 THEN now() END
FROM (SELECT position, count(*) AS made FROM candidates WHERE run_id = %(run)s::uuid GROUP BY position) c
WHERE s.run_id = %(run)s::uuid AND s.position = c.position"""
RUN = "UPDATE pipeline_runs SET status = 'paused', status_reason = 'by_user' WHERE id = %(run)s::uuid"

WORKERS = """INSERT INTO comfyui_workers (id, worker_id, registration_source, status, is_approved, is_draining,
 incarnation, token_hash, capabilities, providers, max_concurrency, current_load, address, takeovers, last_seen_at,
 created_at)
SELECT md5('worker' || n)::uuid, 'gpu-' || n, 'fleet', 'approved', true, false, 1, md5('token' || n), '{{}}',
 '["self_hosted"]', 1, 0, '127.0.0.1', 0, now(), now() FROM generate_series(0, %(workers)s - 1) n""".replace(
    "{{}}", "{}"
)
# Each worker is busy for nine tenths of the day, one block after the other.
BLOCK = """generate_series(0, %(rows)s - 1) n CROSS JOIN LATERAL (SELECT 86400.0 * %(workers)s / %(rows)s AS each_s,
 n / %(workers)s AS at) e CROSS JOIN LATERAL (SELECT now() - interval '24 hours' + e.at * e.each_s * interval '1 s'
 AS began) b"""
DISPATCHES = f"""INSERT INTO ai_job_dispatches (id, tenant_id, tenant_job_id, pool, workflow_id, provider, lane, status,
 priority, fair_tag, seq, attempts, max_attempts, releases, max_releases, epoch, run_deadline_s, queued_at,
 queue_deadline_at, finished_at, settled_at, created_at)
SELECT md5('block' || n)::uuid, %(tenant)s::uuid, md5('block' || n)::uuid, 'main',
 CASE WHEN n %% 3 = 0 THEN %(workflow)s::uuid ELSE md5('flow' || n %% 5)::uuid END, 'self_hosted', 1, 'completed', 0, 0,
 n + 1, 1, 5, 0, 5, 1, 600, b.began, b.began + interval '1 day', b.began, b.began, b.began FROM {BLOCK}"""
ATTEMPTS = f"""INSERT INTO dispatch_attempts (dispatch_id, epoch, nonce, worker_id, incarnation, granted_at,
 confirmed_at, ended_at, reason)
SELECT md5('block' || n)::uuid, 1, 'n', md5('worker' || n %% %(workers)s)::uuid, 1, b.began, b.began,
 b.began + 0.9 * e.each_s * interval '1 s', CASE WHEN n %% 50 = 0 THEN 'failed' ELSE 'completed' END FROM {BLOCK}"""


def _run(url: str, statements: list[str], values: dict[str, Any]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode(), values)
        connection.execute("VACUUM ANALYZE")


def add_jobs(studio: Studio, user: UserId, rows: int) -> None:
    values = {"tenant": studio.tenant.id, "user": user, "workflow": studio.workflow_id, "rows": rows}
    _run(studio.pool_url, [JOBS], values)


def add_day(studio: Studio, *, workers: int, rows: int) -> None:
    values = {"tenant": studio.tenant.id, "workflow": studio.workflow_id, "workers": workers, "rows": rows}
    _run(studio.central_url, [WORKERS, DISPATCHES, ATTEMPTS], values)


async def add_tree(studio: Studio, house: House, user: UserId, run_id: RunId, rows: int) -> None:
    values = {"tenant": studio.tenant.id, "user": user, "run": run_id, "rows": rows, "first": rows // 10}
    _run(studio.pool_url, [CANDIDATES, FILES, STEPS, RUN], values)
    for file_id, thumb in thumbs(studio.pool_url, rows):
        await house.store.write(thumb_key(TenantId(studio.tenant.id), file_id), thumb, media_type="image/webp")


def thumbs(pool_url: str, rows: int) -> Iterator[tuple[FileId, bytes]]:
    """Each another picture, as large as a real one's thumb."""
    with psycopg.connect(pool_url) as connection:
        found: list[UUID] = [row[0] for row in connection.execute("SELECT id FROM files ORDER BY id").fetchall()]
    for number, file_id in enumerate(found[:rows]):
        picture = Image.linear_gradient("L").rotate(number * 37 % 360).convert("RGB")
        tint = Image.new("RGB", picture.size, (number * 53 % 256, number * 97 % 256, number * 193 % 256))
        drawn = Image.blend(picture, tint, 0.5)
        ImageDraw.Draw(drawn).ellipse((60, 60, 60 + number % 130, 60 + number % 130), fill=(250, 240, 220))
        to = io.BytesIO()
        drawn.save(to, "WEBP", quality=80)
        yield FileId(file_id), to.getvalue()
