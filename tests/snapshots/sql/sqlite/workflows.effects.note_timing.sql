UPDATE effects
SET last_processing_time_seconds=?
WHERE effects.id = ?
