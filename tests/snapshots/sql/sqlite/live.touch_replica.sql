UPDATE replicas
SET seen_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE replicas.id = ?
RETURNING id
