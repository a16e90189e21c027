WITH free AS (SELECT ai_job_dispatches.id AS id
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = ?
AND ai_job_dispatches.lease_expires_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND ai_job_dispatches.lease_expires_at < ai_job_dispatches.deadline_at) UPDATE ai_job_dispatches
SET lease_expires_at=CASE WHEN ((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') < ai_job_dispatches.deadline_at) THEN (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') ELSE ai_job_dispatches.deadline_at END
WHERE ai_job_dispatches.status = ?
AND ai_job_dispatches.lease_expires_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND ai_job_dispatches.lease_expires_at < ai_job_dispatches.deadline_at
AND ai_job_dispatches.id IN (SELECT free.id
FROM free)
RETURNING id
