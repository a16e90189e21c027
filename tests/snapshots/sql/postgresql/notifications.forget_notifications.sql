DELETE
FROM notifications
WHERE notifications.id IN (SELECT oldest.id
FROM (SELECT notifications.id AS id, notifications.ended_at AS ended_at
FROM notifications
ORDER BY notifications.id
LIMIT %(param_1)s::INTEGER) AS oldest
WHERE oldest.ended_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
