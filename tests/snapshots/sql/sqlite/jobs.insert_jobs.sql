INSERT INTO ai_jobs (id, tenant_id, user_id, workflow_id, structure_hash, provider, status, priority, reserved_tokens, expected_s, run_deadline_s, retry_of, payload, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, user_id, effect_id, workflow_id, structure_hash, provider, status, priority, reserved_tokens, expected_s, run_deadline_s, input_file_id, output_file_id, idempotency_key, retry_of, provider_job_id, error_message, error_class, created_at, started_at, completed_at
