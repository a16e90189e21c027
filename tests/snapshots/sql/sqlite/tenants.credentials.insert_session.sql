INSERT INTO web_sessions (id, user_id, secret_hash, address, expires_at, created_at)
SELECT ? AS anon_1, users.id, ? AS anon_2, ? AS anon_3, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_4, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_5
FROM users
WHERE users.id = ?
AND users.status = ?
AND users.password_hash = ?
RETURNING id, user_id, secret_hash, address, expires_at, ended_at, created_at
