SELECT count(*) AS parked
FROM (SELECT settlements.id AS id
FROM settlements
WHERE settlements.parked_at IS NOT NULL
LIMIT ? OFFSET ?) AS some
