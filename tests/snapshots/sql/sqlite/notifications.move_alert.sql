UPDATE alerts
SET generation=?
WHERE alerts.condition = ?
AND alerts.subject = ?
AND alerts.generation = ?
RETURNING id
