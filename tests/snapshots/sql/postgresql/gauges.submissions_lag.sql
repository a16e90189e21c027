SELECT EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (oldest.created_at))::float8 AS oldest_s
FROM (SELECT submissions.created_at AS created_at
FROM submissions
WHERE submissions.sent_at IS NULL
ORDER BY submissions.created_at
LIMIT %(param_1)s::INTEGER) AS oldest
