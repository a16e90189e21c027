WITH "old" AS (SELECT ai_jobs.id AS id
FROM ai_jobs
WHERE ai_jobs.completed_at IS NOT NULL
AND ai_jobs.expired_at IS NULL
AND ai_jobs.completed_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
AND NOT (EXISTS (SELECT videos.id
FROM videos
WHERE videos.tenant_id = ai_jobs.tenant_id
AND videos.id = ai_jobs.video_id
AND videos.processed_file_id = ai_jobs.output_file_id
AND videos.status != 'expired'))
AND NOT (EXISTS (SELECT made.file_id
FROM job_files AS made
JOIN job_files AS takes ON takes.tenant_id = made.tenant_id
AND takes.file_id = made.file_id
JOIN ai_jobs AS other ON other.tenant_id = takes.tenant_id
AND other.id = takes.job_id
WHERE made.job_id = ai_jobs.id
AND made.role = %(role_1)s::VARCHAR
AND takes.role = %(role_2)s::VARCHAR
AND other.completed_at IS NULL))
ORDER BY ai_jobs.completed_at
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED) UPDATE ai_jobs
SET payload=%(payload)s::JSONB, properties=NULL, expired_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), collected_at=NULL
WHERE ai_jobs.id IN (SELECT "old".id
FROM "old")
AND ai_jobs.completed_at IS NOT NULL
AND ai_jobs.expired_at IS NULL
RETURNING ai_jobs.id
