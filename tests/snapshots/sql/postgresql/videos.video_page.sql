SELECT videos.id, videos.tenant_id, videos.user_id, videos.title, videos.status, videos.job_id, videos.original_file_id, videos.processed_file_id, videos.poster_file_id, videos.mime_type, videos.width, videos.height, videos.duration_seconds, videos.processing_details, videos.created_at, videos.updated_at
FROM videos
WHERE videos.tenant_id = %(bound_tenant_id)s::UUID
AND videos.user_id = %(user_id_1)s::UUID
AND videos.status = %(status_1)s::VARCHAR
AND videos.mime_type LIKE %(mime_type_1)s::VARCHAR
AND videos.id < %(id_1)s::UUID
ORDER BY videos.id DESC
LIMIT %(param_1)s::INTEGER
