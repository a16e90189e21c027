SELECT dispatch_attempts.worker_id, dispatch_attempts.reason
FROM dispatch_attempts
JOIN (SELECT ? AS id UNION
SELECT latest.id AS id
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.lane AS lane
FROM ai_job_dispatches
WHERE ai_job_dispatches.tenant_id = ?
ORDER BY ai_job_dispatches.id DESC
LIMIT ? OFFSET ?) AS latest
JOIN lanes ON lanes.id = latest.lane
JOIN lanes AS here ON lanes.workflow_id = here.workflow_id
AND lanes.structure_hash = here.structure_hash
WHERE here.id = ?) AS wanted ON dispatch_attempts.dispatch_id = wanted.id
WHERE dispatch_attempts.ended_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
