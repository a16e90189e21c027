DELETE
FROM videos
WHERE videos.id IN (SELECT videos.id
FROM videos
WHERE videos.status = 'expired'
AND videos.updated_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY videos.updated_at
LIMIT ? OFFSET ?)
