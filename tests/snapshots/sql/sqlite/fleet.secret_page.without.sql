SELECT fleet_secrets.id, fleet_secrets.name, fleet_secrets.secret_hash, fleet_secrets.retired_at, fleet_secrets.created_at
FROM fleet_secrets
ORDER BY fleet_secrets.id DESC
LIMIT ? OFFSET ?
