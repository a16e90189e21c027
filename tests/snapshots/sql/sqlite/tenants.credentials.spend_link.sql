UPDATE one_time_links
SET spent_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE one_time_links.id = ?
AND one_time_links.spent_at IS NULL
AND one_time_links.expires_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
RETURNING id, user_id, purpose, expires_at, spent_at, created_at
