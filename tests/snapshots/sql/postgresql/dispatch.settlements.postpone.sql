UPDATE settlements
SET tries=(settlements.tries + %(tries_1)s::INTEGER), next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), last_error=%(last_error)s::VARCHAR
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id = %(id_1)s::UUID
RETURNING settlements.id
