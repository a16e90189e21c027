UPDATE videos
SET status=?, updated_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
WHERE videos.id = b.id
AND videos.status IN ('uploaded', 'completed', 'failed')
RETURNING id, tenant_id, user_id, title, status, job_id, original_file_id, processed_file_id, poster_file_id, mime_type, width, height, duration_seconds, processing_details, created_at, updated_at
