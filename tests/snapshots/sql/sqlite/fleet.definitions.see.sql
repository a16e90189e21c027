UPDATE node_definitions
SET seen_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE node_definitions.digest = ?
RETURNING digest
