INSERT INTO alerts (condition, subject, generation)
VALUES (%(condition)s::VARCHAR, %(subject)s::VARCHAR, %(generation)s::BIGINT)
ON CONFLICT DO NOTHING
RETURNING alerts.id
