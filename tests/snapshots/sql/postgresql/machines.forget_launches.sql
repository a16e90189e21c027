DELETE
FROM fleet_launches
WHERE fleet_launches.answered_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
