SELECT ai_jobs.id, ai_jobs.user_id, ai_jobs.run_id, ai_jobs.status
FROM ai_jobs
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.id IN (%(job_0)s::UUID)
