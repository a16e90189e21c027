INSERT INTO fleet_secrets (id, name, secret_hash, created_at)
VALUES (?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
RETURNING id, name, secret_hash, retired_at, created_at
