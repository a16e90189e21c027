SELECT tenant_audit_log.tenant_id, tenant_audit_log.mac
FROM tenant_audit_log
JOIN (SELECT replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id, json_extract(value, '$.seq') AS seq
FROM json_each(?)) AS b ON tenant_audit_log.tenant_id = b.tenant_id
AND tenant_audit_log.seq = b.seq
