SELECT found.tenant_id, found.id, found.event_type, found.subject_id, found.status, count(*) OVER () AS total
FROM (SELECT webhook_events.tenant_id AS tenant_id, webhook_events.id AS id, webhook_events.event_type AS event_type, webhook_events.subject_id AS subject_id, ai_jobs.status AS status
FROM webhook_events
LEFT OUTER
JOIN ai_jobs ON ai_jobs.tenant_id = webhook_events.tenant_id
AND ai_jobs.id = webhook_events.subject_id
WHERE webhook_events.event_type LIKE %(event_type_1)s::VARCHAR
AND (ai_jobs.id IS NULL OR webhook_events.event_type = %(event_type_2)s::VARCHAR
AND ai_jobs.status != %(status_1)s::VARCHAR OR webhook_events.event_type = %(event_type_3)s::VARCHAR
AND ai_jobs.status != %(status_2)s::VARCHAR OR webhook_events.event_type = %(event_type_4)s::VARCHAR
AND ai_jobs.status != %(status_3)s::VARCHAR)) AS found
LIMIT %(param_1)s::INTEGER
