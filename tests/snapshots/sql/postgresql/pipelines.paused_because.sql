SELECT pipeline_runs.id, pipeline_runs.tenant_id, pipeline_runs.status_reason
FROM pipeline_runs
WHERE pipeline_runs.status = %(status_1)s::VARCHAR
AND (pipeline_runs.status_reason LIKE %(status_reason_1)s::VARCHAR || '%%' ESCAPE '/')
ORDER BY pipeline_runs.id
LIMIT %(param_1)s::INTEGER
