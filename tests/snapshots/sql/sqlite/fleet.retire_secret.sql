UPDATE fleet_secrets
SET retired_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE fleet_secrets.id = ?
AND fleet_secrets.retired_at IS NULL
