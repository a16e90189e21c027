UPDATE settlements
SET next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.dispatch_id = %(dispatch_id_1)s::UUID
AND settlements.next_try_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
RETURNING settlements.id
