SELECT ai_jobs.id
FROM ai_jobs
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.status IN (__[POSTCOMPILE_active])
AND ai_jobs.user_id = %(user_id)s::UUID
AND ai_jobs.run_id IS NULL
LIMIT %(param_1)s::INTEGER
