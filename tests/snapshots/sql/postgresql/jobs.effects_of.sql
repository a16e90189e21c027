SELECT ai_jobs.id, ai_jobs.effect_slug
FROM ai_jobs
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.id IN (__[POSTCOMPILE_id_1])
