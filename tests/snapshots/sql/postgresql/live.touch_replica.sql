UPDATE replicas
SET seen_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE replicas.id = %(id_1)s::UUID
RETURNING replicas.id
