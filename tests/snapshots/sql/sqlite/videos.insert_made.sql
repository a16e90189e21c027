INSERT INTO videos (id, tenant_id, user_id, title, status, job_id, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
RETURNING id, tenant_id, user_id, title, status, job_id, original_file_id, processed_file_id, poster_file_id, mime_type, width, height, duration_seconds, processing_details, created_at, updated_at
