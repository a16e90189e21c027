UPDATE effects
SET last_processing_time_seconds=%(last_processing_time_seconds)s
WHERE effects.id = %(id_1)s::UUID
