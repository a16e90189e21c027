WITH old AS (SELECT ai_jobs.id AS id
FROM ai_jobs
WHERE ai_jobs.completed_at IS NOT NULL
AND ai_jobs.expired_at IS NULL
AND ai_jobs.completed_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
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
AND made.role = ?
AND takes.role = ?
AND other.completed_at IS NULL))
ORDER BY ai_jobs.completed_at
LIMIT ? OFFSET ?) UPDATE ai_jobs
SET payload=?, properties=NULL, expired_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), collected_at=NULL
WHERE ai_jobs.id IN (SELECT old.id
FROM old)
AND ai_jobs.completed_at IS NOT NULL
AND ai_jobs.expired_at IS NULL
RETURNING id
