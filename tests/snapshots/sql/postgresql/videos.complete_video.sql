UPDATE videos
SET status=%(status)s::VARCHAR, processed_file_id=%(made_file_id)s::UUID, mime_type=coalesce(videos.mime_type, %(made_type)s::VARCHAR), processing_details=%(details)s::JSONB, updated_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE videos.tenant_id = %(bound_tenant_id)s::UUID
AND videos.id = %(video_id)s::UUID
AND videos.status IN (__[POSTCOMPILE_status_1])
AND videos.job_id = %(of_job_id)s::UUID
RETURNING videos.id, videos.tenant_id, videos.user_id, videos.title, videos.status, videos.job_id, videos.original_file_id, videos.processed_file_id, videos.poster_file_id, videos.mime_type, videos.width, videos.height, videos.duration_seconds, videos.processing_details, videos.created_at, videos.updated_at
