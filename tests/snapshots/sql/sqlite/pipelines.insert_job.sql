INSERT INTO run_jobs (job_id, tenant_id, run_id, position, parent_id, place, ordinal, seed, tokens, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
