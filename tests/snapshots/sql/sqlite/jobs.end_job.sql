UPDATE ai_jobs
SET status=?, output_file_id=?, provider_job_id=coalesce(?, ai_jobs.provider_job_id), error_message=?, error_class=?, started_at=coalesce((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ai_jobs.started_at), completed_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.id = ?
AND ai_jobs.status IN (__[POSTCOMPILE_status_1])
RETURNING id, tenant_id, user_id, effect_id, workflow_id, structure_hash, provider, status, priority, reserved_tokens, expected_s, run_deadline_s, input_file_id, output_file_id, idempotency_key, retry_of, provider_job_id, error_message, error_class, created_at, started_at, completed_at, effect_slug, workflow_version, video_id, properties, request_digest, webhook_endpoint_id, cancel_requested_at, deleted_at, expired_at, collected_at, run_id
