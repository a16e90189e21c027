WITH old AS (SELECT files.id AS id
FROM files
WHERE files.status = ?
AND files.created_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY files.id
LIMIT ? OFFSET ?) UPDATE files
SET status=?, deleted_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE files.id IN (SELECT old.id
FROM old)
AND files.status = ?
RETURNING id
