SELECT replicas.id, replicas.url
FROM replicas
WHERE replicas.id != %(id_1)s::UUID
AND replicas.seen_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY replicas.id
LIMIT %(param_1)s::INTEGER
