SELECT effects.id, effects.slug, effects.name, effects.description, effects.workflow_id, effects.overrides, effects.assets, effects.credits_cost, effects.is_published, effects.last_processing_time_seconds, effects.updated_at, effects.created_at, effects.waits_for_worker, effects.fixed_overrides
FROM effects
WHERE effects.slug = %(slug_1)s::VARCHAR
