WITH RECURSIVE branch(id) AS (SELECT candidates.id AS id
FROM candidates
WHERE candidates.tenant_id = ?
AND candidates.id = ? UNION ALL
SELECT child.id AS id
FROM candidates AS child
JOIN branch ON child.parent_id = branch.id
WHERE child.tenant_id = ?) UPDATE candidates
SET status=?, rejected_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE candidates.tenant_id = ?
AND candidates.id IN (SELECT branch.id
FROM branch)
AND candidates.status IN (__[POSTCOMPILE_status_1])
RETURNING id, position
