SELECT web_sessions.id
FROM web_sessions
JOIN users ON users.id = web_sessions.user_id
WHERE web_sessions.id = ?
AND web_sessions.ended_at IS NULL
AND web_sessions.expires_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND users.status = ?
