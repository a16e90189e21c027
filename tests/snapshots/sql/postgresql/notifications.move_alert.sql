UPDATE alerts
SET generation=%(generation)s::BIGINT
WHERE alerts.condition = %(condition_1)s::VARCHAR
AND alerts.subject = %(subject_1)s::VARCHAR
AND alerts.generation = %(generation_1)s::BIGINT
RETURNING alerts.id
