DELETE
FROM replicas
WHERE replicas.seen_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
