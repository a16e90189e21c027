SELECT dispatch_attempts.worker_id, dispatch_attempts.reason
FROM dispatch_attempts
JOIN (SELECT %(param_1)s::UUID AS id UNION
SELECT latest.id AS id
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.lane AS lane
FROM ai_job_dispatches
WHERE ai_job_dispatches.tenant_id = %(tenant_id_1)s::UUID
ORDER BY ai_job_dispatches.id DESC
LIMIT %(param_2)s::INTEGER) AS latest
JOIN lanes ON lanes.id = latest.lane
JOIN lanes AS here ON lanes.workflow_id = here.workflow_id
AND lanes.structure_hash = here.structure_hash
WHERE here.id = %(id_1)s::INTEGER) AS wanted ON dispatch_attempts.dispatch_id = wanted.id
WHERE dispatch_attempts.ended_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
