SELECT count(*) AS parked
FROM (SELECT settlements.id AS id
FROM settlements
WHERE settlements.parked_at IS NOT NULL
LIMIT %(param_1)s::INTEGER) AS "some"
