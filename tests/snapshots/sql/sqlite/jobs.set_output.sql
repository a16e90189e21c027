UPDATE ai_jobs
SET output_file_id=?
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.id = ?
