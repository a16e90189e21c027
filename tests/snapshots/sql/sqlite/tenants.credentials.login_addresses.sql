SELECT web_sessions.address
FROM web_sessions
JOIN users ON users.id = web_sessions.user_id
WHERE users.email = ?
ORDER BY web_sessions.id DESC
LIMIT ? OFFSET ?
