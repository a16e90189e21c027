UPDATE one_time_links
SET spent_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE one_time_links.user_id = ?
AND one_time_links.spent_at IS NULL
