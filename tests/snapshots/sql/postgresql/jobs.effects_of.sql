SELECT ai_jobs.id, ai_jobs.effect_id
FROM ai_jobs
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.id IN (__[POSTCOMPILE_id_1])
AND ai_jobs.effect_id IS NOT NULL
ORDER BY ai_jobs.id
