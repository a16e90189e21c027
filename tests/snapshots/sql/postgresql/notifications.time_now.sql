SELECT (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS at
