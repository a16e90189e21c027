UPDATE settlements
SET tries=%(tries)s::INTEGER, next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), parked_at=%(parked_at)s::TIMESTAMP WITH TIME ZONE
WHERE settlements.id = %(id_1)s::UUID
AND settlements.parked_at IS NOT NULL
AND settlements.applied_at IS NULL
RETURNING settlements.id
