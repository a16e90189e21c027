UPDATE node_definitions
SET seen_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE node_definitions.digest = %(digest_1)s::VARCHAR
RETURNING node_definitions.digest
