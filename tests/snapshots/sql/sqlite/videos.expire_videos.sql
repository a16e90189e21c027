WITH old AS (SELECT videos.id AS id
FROM videos
WHERE videos.status IN ('uploaded', 'completed', 'failed')
AND videos.updated_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY videos.updated_at
LIMIT ? OFFSET ?) UPDATE videos
SET status=?, updated_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE videos.id IN (SELECT old.id
FROM old)
AND videos.status IN ('uploaded', 'completed', 'failed')
RETURNING id, tenant_id, user_id, title, status, job_id, original_file_id, processed_file_id, poster_file_id, mime_type, width, height, duration_seconds, processing_details, created_at, updated_at
