INSERT INTO upkeep_ticks (loop, ticked_at)
VALUES (%(loop)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING upkeep_ticks.loop
