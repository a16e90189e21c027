INSERT INTO alerts (condition, subject, generation)
VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
RETURNING id
