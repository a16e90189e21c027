INSERT INTO submissions (job_id, tenant_id, created_at, traceparent)
VALUES (?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?)
