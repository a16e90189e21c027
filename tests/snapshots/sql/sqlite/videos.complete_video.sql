UPDATE videos
SET status=?, processed_file_id=?, mime_type=coalesce(videos.mime_type, ?), processing_details=?, updated_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE videos.tenant_id = ?
AND videos.id = ?
AND videos.status IN (__[POSTCOMPILE_status_1])
AND videos.job_id = ?
RETURNING id, tenant_id, user_id, title, status, job_id, original_file_id, processed_file_id, poster_file_id, mime_type, width, height, duration_seconds, processing_details, created_at, updated_at
