SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.user_id
FROM ai_jobs
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.id = %(id_1)s::UUID
AND ai_jobs.user_id = %(user_id_1)s::UUID
