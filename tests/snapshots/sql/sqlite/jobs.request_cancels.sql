UPDATE ai_jobs
SET cancel_requested_at=coalesce(ai_jobs.cancel_requested_at, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.id IN (__[POSTCOMPILE_id_1])
AND ai_jobs.status IN (__[POSTCOMPILE_status_1])
