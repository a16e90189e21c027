UPDATE ai_jobs
SET output_file_id=%(output_file_id)s::UUID
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.id = %(id_1)s::UUID
