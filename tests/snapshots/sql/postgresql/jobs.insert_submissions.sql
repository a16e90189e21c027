INSERT INTO submissions (job_id, tenant_id, created_at, traceparent)
VALUES (%(job_id)s::UUID, %(bound_tenant_id)s::UUID, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), %(traceparent)s::VARCHAR)
