"""Jobs that ended long ago, written by the database itself: a million in a minute or two."""

import psycopg

from bench.jobs.studio import USERS, Studio

# Ids grow with time, as UUIDv7 do; users in turn. All that a job leaves behind: video, payment, submission.
ID = "(lpad(to_hex(n), 12, '0') || '70008000' || substr(md5(n::text), 1, 12))::uuid"
JOBS = f"""INSERT INTO ai_jobs (id, tenant_id, user_id, effect_id, workflow_id, structure_hash, provider, status,
 priority, reserved_tokens, expected_s, idempotency_key, payload, created_at, started_at, completed_at, effect_slug,
 workflow_version, video_id, properties, request_digest)
SELECT {ID}, %(tenant)s, md5('user' || n %% %(users)s)::uuid, %(workflow)s, %(workflow)s, 'structure', 'self_hosted',
 'completed', 0, 10, 1, md5('once' || n), '{{"workflow": {{}}}}', now(), now(), now(), 'bench', 1, {ID},
 '{{"prompt": "a cat"}}', md5('digest' || n)
FROM generate_series(1, %(rows)s) n"""
VIDEOS = f"""INSERT INTO videos (id, tenant_id, user_id, title, status, job_id, processed_file_id, created_at,
 updated_at)
SELECT {ID}, %(tenant)s, md5('user' || n %% %(users)s)::uuid, 'Bench', 'completed', {ID}, {ID}, now(), now()
FROM generate_series(1, %(rows)s) n"""
PAYMENTS = f"""INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at)
SELECT md5(k.kind || n)::uuid, %(tenant)s, md5('wallet' || n %% %(users)s)::uuid, k.kind, k.amount, {ID}, now()
FROM generate_series(1, %(rows)s) n CROSS JOIN (VALUES ('JOB_RESERVE', -10), ('JOB_CONSUME', 0)) k(kind, amount)"""
SUBMISSIONS = f"""INSERT INTO submissions (job_id, tenant_id, created_at, sent_at)
SELECT {ID}, %(tenant)s, now(), now() FROM generate_series(1, %(rows)s) n"""


def add_ended_jobs(studio: Studio, rows: int) -> None:
    values = {"tenant": studio.tenant.id, "workflow": studio.workflow_id, "users": USERS, "rows": rows}
    with psycopg.connect(studio.pool_url, autocommit=True) as connection:
        for statement in (JOBS, VIDEOS, PAYMENTS, SUBMISSIONS):
            connection.execute(statement.encode(), values)
        connection.execute("VACUUM ANALYZE")
