INSERT INTO worker_audit_log (id, at, event, worker_id, dispatch_id, tenant_id, detail)
SELECT b.id, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_1, %(param_1)s::VARCHAR AS anon_2, comfyui_workers.worker_id, b.dispatch_id, b.tenant_id, b.detail
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id_worker_id_dispatch_id_tenant_id_detail)s::VARCHAR AS jsonb)) AS r(id UUID, worker_id UUID, dispatch_id UUID, tenant_id UUID, detail TEXT)) AS b
JOIN comfyui_workers ON comfyui_workers.id = b.worker_id
