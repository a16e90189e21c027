WITH free AS (SELECT ai_job_dispatches.id AS id
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = %(status_1)s::VARCHAR
AND ai_job_dispatches.lease_expires_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND ai_job_dispatches.lease_expires_at < ai_job_dispatches.deadline_at FOR UPDATE SKIP LOCKED) UPDATE ai_job_dispatches
SET lease_expires_at=CASE WHEN ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) < ai_job_dispatches.deadline_at) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) ELSE ai_job_dispatches.deadline_at END
WHERE ai_job_dispatches.status = %(status_1)s::VARCHAR
AND ai_job_dispatches.lease_expires_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND ai_job_dispatches.lease_expires_at < ai_job_dispatches.deadline_at
AND ai_job_dispatches.id IN (SELECT free.id
FROM free)
RETURNING ai_job_dispatches.id
