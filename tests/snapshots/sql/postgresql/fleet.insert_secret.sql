INSERT INTO fleet_secrets (id, name, secret_hash, created_at)
VALUES (%(id)s::UUID, %(name)s::VARCHAR, %(secret_hash)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
RETURNING fleet_secrets.id, fleet_secrets.name, fleet_secrets.secret_hash, fleet_secrets.retired_at, fleet_secrets.created_at
