WITH free AS (SELECT notifications.id AS id
FROM notifications
WHERE notifications.status = 'pending'
AND notifications.next_try_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
AND (notifications.channel_id NOT IN (__[POSTCOMPILE_channel_id_1]))
AND NOT (EXISTS (SELECT earlier.id
FROM notifications AS earlier
WHERE earlier.status = 'pending'
AND earlier.channel_id = notifications.channel_id
AND earlier.condition = notifications.condition
AND earlier.id < notifications.id))
ORDER BY notifications.id
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED) UPDATE notifications
SET attempts=(notifications.attempts + %(attempts_1)s::INTEGER), next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE notifications.id IN (SELECT free.id
FROM free)
AND notifications.status = 'pending'
RETURNING notifications.id
