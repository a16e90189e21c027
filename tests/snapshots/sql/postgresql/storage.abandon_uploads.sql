WITH "old" AS (SELECT files.id AS id
FROM files
WHERE files.status = %(status_1)s::VARCHAR
AND files.created_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
ORDER BY files.id
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED) UPDATE files
SET status=%(status)s::VARCHAR, deleted_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE files.id IN (SELECT "old".id
FROM "old")
AND files.status = %(status_2)s::VARCHAR
RETURNING files.id
