SELECT files.id, files.tenant_id, files.user_id
FROM files
WHERE files.status = 'stored'
AND files.stored_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND NOT (EXISTS (SELECT videos.id
FROM videos
WHERE videos.tenant_id = files.tenant_id
AND videos.user_id = files.user_id
AND (videos.original_file_id = files.id OR videos.processed_file_id = files.id OR videos.poster_file_id = files.id)))
AND NOT (EXISTS (SELECT job_files.file_id
FROM job_files
JOIN ai_jobs ON ai_jobs.tenant_id = job_files.tenant_id
AND ai_jobs.id = job_files.job_id
WHERE job_files.tenant_id = files.tenant_id
AND job_files.file_id = files.id
AND (job_files.role = ? OR ai_jobs.completed_at IS NULL)))
ORDER BY files.stored_at
LIMIT ? OFFSET ?
