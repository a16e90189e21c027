DELETE
FROM videos
WHERE videos.id IN (SELECT videos.id
FROM videos
WHERE videos.status = 'expired'
AND videos.updated_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY videos.updated_at
LIMIT %(param_1)s::INTEGER)
