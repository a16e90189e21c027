UPDATE effects
SET last_processing_time_seconds=%(seconds)s
WHERE effects.id = %(effect)s::UUID
