INSERT INTO fleet_secrets (id, name, secret_hash, created_at, fleet_id, allows_workflows)
VALUES (?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?, ?)
