SELECT ai_job_dispatches.id, ai_job_dispatches.status, ai_job_dispatches.queue_deadline_at, (SELECT waiting_reasons.reason
FROM waiting_reasons
WHERE waiting_reasons.lane = ai_job_dispatches.lane
AND (waiting_reasons.tenant_id IS NULL OR waiting_reasons.tenant_id = ai_job_dispatches.tenant_id)
ORDER BY waiting_reasons.id
LIMIT %(param_1)s::INTEGER) AS reason, CASE WHEN (ai_job_dispatches.status = 'queued') THEN (SELECT count(*) AS count_1
FROM (SELECT front.id AS id
FROM ai_job_dispatches AS front
WHERE front.lane = ai_job_dispatches.lane
AND front.status = 'queued'
AND (front.fair_tag, front.seq) < (ai_job_dispatches.fair_tag, ai_job_dispatches.seq)
ORDER BY front.fair_tag, front.seq
LIMIT %(param_2)s::INTEGER) AS before) ELSE %(param_3)s::INTEGER END AS ahead, ai_job_dispatches.service_status, EXISTS (SELECT other.id
FROM ai_job_dispatches AS other
WHERE other.status = 'leased'
AND ai_job_dispatches.status = 'leased'
AND other.worker_id = ai_job_dispatches.worker_id
AND other.id != ai_job_dispatches.id) AS behind
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
