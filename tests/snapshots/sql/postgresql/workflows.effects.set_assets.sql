UPDATE effects
SET assets=%(assets)s::JSONB, updated_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE effects.id = %(id_1)s::UUID
RETURNING effects.id, effects.slug, effects.name, effects.description, effects.workflow_id, effects.overrides, effects.assets, effects.credits_cost, effects.is_published, effects.last_processing_time_seconds, effects.updated_at, effects.created_at, effects.waits_for_worker, effects.fixed_overrides
