UPDATE web_sessions
SET ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE web_sessions.id = ?
AND web_sessions.ended_at IS NULL
