INSERT INTO webhook_events (id, tenant_id, event_type, subject_id, payload, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(event_type)s::VARCHAR, %(subject_id)s::UUID, %(payload)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING webhook_events.id
