UPDATE pipeline_run_steps
SET approved_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), approved_by=%(approved_by)s::VARCHAR, top=%(top)s::INTEGER
WHERE pipeline_run_steps.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_run_steps.run_id = %(run_id_1)s::UUID
AND pipeline_run_steps.position = %(position_1)s::INTEGER
