SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.user_id, ai_jobs.effect_id, ai_jobs.workflow_id, ai_jobs.structure_hash, ai_jobs.provider, ai_jobs.status, ai_jobs.priority, ai_jobs.reserved_tokens, ai_jobs.expected_s, ai_jobs.run_deadline_s, ai_jobs.input_file_id, ai_jobs.output_file_id, ai_jobs.idempotency_key, ai_jobs.retry_of, ai_jobs.provider_job_id, ai_jobs.error_message, ai_jobs.error_class, ai_jobs.payload, ai_jobs.created_at, ai_jobs.started_at, ai_jobs.completed_at, ai_jobs.effect_slug, ai_jobs.workflow_version, ai_jobs.video_id, ai_jobs.properties, ai_jobs.request_digest, ai_jobs.webhook_endpoint_id, ai_jobs.cancel_requested_at, ai_jobs.deleted_at, ai_jobs.expired_at, ai_jobs.collected_at, ai_jobs.run_id, (SELECT submissions.traceparent
FROM submissions
WHERE submissions.tenant_id = ?
AND submissions.job_id = ?) AS traceparent
FROM ai_jobs
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.id = ?
