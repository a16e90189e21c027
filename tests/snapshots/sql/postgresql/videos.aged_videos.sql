SELECT videos.id, videos.tenant_id, videos.user_id, videos.title, videos.status, videos.job_id, videos.original_file_id, videos.processed_file_id, videos.poster_file_id, videos.mime_type, videos.width, videos.height, videos.duration_seconds, videos.processing_details, videos.created_at, videos.updated_at
FROM videos
WHERE videos.status IN ('uploaded', 'completed', 'failed')
AND videos.updated_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY videos.updated_at
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED
