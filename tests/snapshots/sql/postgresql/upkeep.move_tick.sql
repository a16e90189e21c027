UPDATE upkeep_ticks
SET ticked_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE upkeep_ticks.loop = %(loop_1)s::VARCHAR
