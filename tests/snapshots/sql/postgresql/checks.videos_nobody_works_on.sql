SELECT found.tenant_id, found.id, found.job_id, count(*) OVER () AS total
FROM (SELECT videos.tenant_id AS tenant_id, videos.id AS id, videos.job_id AS job_id
FROM videos
WHERE videos.status = %(status_1)s::VARCHAR
AND NOT (EXISTS (SELECT ai_jobs.id
FROM ai_jobs
WHERE ai_jobs.tenant_id = videos.tenant_id
AND ai_jobs.id = videos.job_id
AND ai_jobs.video_id = videos.id
AND ai_jobs.status IN (__[POSTCOMPILE_status_2])))) AS found
LIMIT %(param_1)s::INTEGER
