WITH RECURSIVE branch(id) AS (SELECT candidates.id AS id
FROM candidates
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(id_1)s::UUID UNION ALL
SELECT child.id AS id
FROM candidates AS child
JOIN branch ON child.parent_id = branch.id
WHERE child.tenant_id = %(bound_tenant_id)s::UUID) UPDATE candidates
SET status=%(status)s::VARCHAR, rejected_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id IN (SELECT branch.id
FROM branch)
AND candidates.status IN (__[POSTCOMPILE_status_1])
RETURNING candidates.id, candidates.position
