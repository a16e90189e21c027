UPDATE fleet_secrets
SET retired_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE fleet_secrets.id = %(id_1)s::UUID
AND fleet_secrets.retired_at IS NULL
