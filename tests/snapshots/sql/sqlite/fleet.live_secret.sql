SELECT fleet_secrets.id
FROM fleet_secrets
WHERE fleet_secrets.secret_hash = ?
AND fleet_secrets.retired_at IS NULL
