SELECT EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (upkeep_ticks.ticked_at))::float8 AS since_s
FROM upkeep_ticks
WHERE upkeep_ticks.loop = %(loop_1)s::VARCHAR FOR UPDATE SKIP LOCKED
