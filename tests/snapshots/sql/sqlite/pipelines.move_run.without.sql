UPDATE pipeline_runs
SET status=?, status_reason=?, advance_due_at=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id = ?
AND pipeline_runs.status IN (__[POSTCOMPILE_status_1])
RETURNING id, tenant_id, user_id, pipeline_id, name, status, status_reason, variables, target_folder, variants, top, finals, concurrency, tokens_max, jobs_max, ends_at, tokens_spent, jobs_started, in_flight, approval, seed_policy, seed, idempotency_key, last_turn, advance_due_at, created_at, started_at, ended_at, score_due_at
