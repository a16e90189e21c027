UPDATE fleet_scaling
SET held_by=%(held_by)s::VARCHAR, held_until=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE (fleet_scaling.held_until IS NULL OR fleet_scaling.held_until < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
AND (fleet_scaling.decided_at IS NULL OR fleet_scaling.decided_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_3)s)) OR fleet_scaling.is_empty)
RETURNING fleet_scaling.fleet_id, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_4)s))) - (coalesce(fleet_scaling.decided_at, fleet_scaling.updated_at)))::float8 >= %(param_1)s AS is_due, fleet_scaling.decided_at
