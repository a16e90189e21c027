INSERT INTO ai_job_dispatches (id, tenant_id, tenant_job_id, pool, workflow_id, provider, lane, status, priority, fair_tag, seq, attempts, max_attempts, releases, max_releases, epoch, run_deadline_s, queued_at, queue_deadline_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id
