SELECT replicas.id, replicas.url
FROM replicas
WHERE replicas.id != ?
AND replicas.seen_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY replicas.id
LIMIT ? OFFSET ?
