SELECT audit_head.seq, audit_head.mac, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS at
FROM audit_head
WHERE audit_head.id = %(id_1)s::INTEGER
