SELECT fleet_secrets.id
FROM fleet_secrets
WHERE fleet_secrets.secret_hash = %(secret_hash_1)s::VARCHAR
AND fleet_secrets.retired_at IS NULL
