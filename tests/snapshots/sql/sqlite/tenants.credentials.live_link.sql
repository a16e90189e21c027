SELECT one_time_links.user_id
FROM one_time_links
WHERE one_time_links.id = ?
AND one_time_links.spent_at IS NULL
AND one_time_links.expires_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
