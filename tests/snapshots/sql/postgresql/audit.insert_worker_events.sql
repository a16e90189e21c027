INSERT INTO worker_audit_log (id, event, worker_id, dispatch_id, tenant_id, address, detail, at)
SELECT b.id, b.event, b.worker_id, b.dispatch_id, b.tenant_id, b.address, b.detail, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_1
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id_event_worker_id_dispatch_id_tenant_id_address_detail)s::VARCHAR AS jsonb)) AS r(id UUID, event TEXT, worker_id TEXT, dispatch_id UUID, tenant_id UUID, address TEXT, detail TEXT)) AS b
