INSERT INTO fleet_secrets (id, name, secret_hash, created_at, fleet_id, allows_workflows)
VALUES (%(id)s::UUID, %(name)s::VARCHAR, %(secret_hash)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), %(fleet_id)s::UUID, %(allows_workflows)s)
