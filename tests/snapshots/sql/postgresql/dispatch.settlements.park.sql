UPDATE settlements
SET tries=(settlements.tries + %(tries_1)s::INTEGER), last_error=%(last_error)s::VARCHAR, parked_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id = %(id_1)s::UUID
RETURNING settlements.id
