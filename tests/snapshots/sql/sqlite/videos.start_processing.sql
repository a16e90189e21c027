UPDATE videos
SET status=?, job_id=?, processed_file_id=?, processing_details=NULL, updated_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE videos.tenant_id = ?
AND videos.id = ?
AND videos.status IN (__[POSTCOMPILE_status_1])
AND videos.user_id = ?
RETURNING id, tenant_id, user_id, title, status, job_id, original_file_id, processed_file_id, poster_file_id, mime_type, width, height, duration_seconds, processing_details, created_at, updated_at
