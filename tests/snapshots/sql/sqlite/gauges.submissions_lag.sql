SELECT ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(oldest.created_at)) * 86400.0) AS oldest_s
FROM (SELECT submissions.created_at AS created_at
FROM submissions
WHERE submissions.sent_at IS NULL
ORDER BY submissions.created_at
LIMIT ? OFFSET ?) AS oldest
