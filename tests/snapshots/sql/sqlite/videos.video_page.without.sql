SELECT videos.id, videos.tenant_id, videos.user_id, videos.title, videos.status, videos.job_id, videos.original_file_id, videos.processed_file_id, videos.poster_file_id, videos.mime_type, videos.width, videos.height, videos.duration_seconds, videos.processing_details, videos.created_at, videos.updated_at
FROM videos
WHERE videos.tenant_id = ?
AND videos.user_id = ?
ORDER BY videos.id DESC
LIMIT ? OFFSET ?
