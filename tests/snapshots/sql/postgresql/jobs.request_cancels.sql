UPDATE ai_jobs
SET cancel_requested_at=coalesce(ai_jobs.cancel_requested_at, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
WHERE ai_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND ai_jobs.id IN (__[POSTCOMPILE_id_1])
AND ai_jobs.status IN (__[POSTCOMPILE_status_1])
