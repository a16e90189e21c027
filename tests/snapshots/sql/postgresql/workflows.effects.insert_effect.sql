INSERT INTO effects (id, slug, name, description, workflow_id, overrides, assets, credits_cost, is_published, created_at, waits_for_worker)
VALUES (%(id)s::UUID, %(slug)s::VARCHAR, %(name)s::VARCHAR, %(description)s::VARCHAR, %(workflow_id)s::UUID, %(overrides)s::JSONB, %(assets)s::JSONB, %(credits_cost)s::BIGINT, %(is_published)s, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), %(waits_for_worker)s)
ON CONFLICT DO NOTHING
RETURNING effects.id, effects.slug, effects.name, effects.description, effects.workflow_id, effects.overrides, effects.assets, effects.credits_cost, effects.is_published, effects.last_processing_time_seconds, effects.updated_at, effects.created_at, effects.waits_for_worker
