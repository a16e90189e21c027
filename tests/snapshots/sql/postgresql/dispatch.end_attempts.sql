UPDATE dispatch_attempts
SET ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), reason=b.reason, request_digest=b.request_digest, answered_status=b.status, provider_job_id=b.provider_job_id, service_reason=b.service_reason
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, reason TEXT, request_digest TEXT, status TEXT, provider_job_id TEXT, service_reason TEXT)) AS b
WHERE dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch
AND dispatch_attempts.ended_at IS NULL
