UPDATE upkeep_ticks
SET ticked_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE upkeep_ticks.loop = %(loop_1)s::VARCHAR
AND upkeep_ticks.ticked_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
RETURNING upkeep_ticks.loop
