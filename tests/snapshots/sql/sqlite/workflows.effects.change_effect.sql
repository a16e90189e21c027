UPDATE effects
SET name=?, description=?, workflow_id=?, overrides=?, credits_cost=?, updated_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), waits_for_worker=?, fixed_overrides=?
WHERE effects.id = ?
RETURNING id, slug, name, description, workflow_id, overrides, assets, credits_cost, is_published, last_processing_time_seconds, updated_at, created_at, waits_for_worker, fixed_overrides
