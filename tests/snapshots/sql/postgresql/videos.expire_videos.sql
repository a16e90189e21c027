UPDATE videos
SET status=%(status)s::VARCHAR, updated_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
WHERE videos.id = b.id
AND videos.status IN ('uploaded', 'completed', 'failed')
RETURNING videos.id, videos.tenant_id, videos.user_id, videos.title, videos.status, videos.job_id, videos.original_file_id, videos.processed_file_id, videos.poster_file_id, videos.mime_type, videos.width, videos.height, videos.duration_seconds, videos.processing_details, videos.created_at, videos.updated_at
