UPDATE pipelines
SET archived_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE pipelines.tenant_id = %(bound_tenant_id)s::UUID
AND pipelines.slug = %(slug_1)s::VARCHAR
AND pipelines.archived_at IS NULL
