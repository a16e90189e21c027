SELECT settlements.id, settlements.dispatch_id, settlements.tenant_id, settlements.pool, settlements.outcome, settlements.detail, settlements.tries, settlements.next_try_at, settlements.last_error, settlements.applied_at, settlements.parked_at, settlements.created_at, ai_job_dispatches.provider_job_id, ai_job_dispatches.duration_seconds, ai_job_dispatches.service_status, ai_job_dispatches.traceparent
FROM settlements
JOIN ai_job_dispatches ON ai_job_dispatches.id = settlements.dispatch_id
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON settlements.id = b.id
ORDER BY settlements.id
