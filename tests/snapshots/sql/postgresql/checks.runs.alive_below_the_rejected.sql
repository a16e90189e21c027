SELECT found.tenant_id, found.run_id, found.id, found.parent_id, count(*) OVER () AS total
FROM (SELECT candidates.tenant_id AS tenant_id, candidates.run_id AS run_id, candidates.id AS id, candidates.parent_id AS parent_id
FROM candidates
JOIN candidates AS parent ON parent.tenant_id = candidates.tenant_id
AND parent.id = candidates.parent_id
WHERE candidates.status = %(status_1)s::VARCHAR
AND parent.status = %(status_2)s::VARCHAR) AS found
LIMIT %(param_1)s::INTEGER
