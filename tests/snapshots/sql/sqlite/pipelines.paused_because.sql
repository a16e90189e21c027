SELECT pipeline_runs.id, pipeline_runs.tenant_id, pipeline_runs.status_reason
FROM pipeline_runs
WHERE pipeline_runs.status = ?
AND (pipeline_runs.status_reason LIKE ? || '%' ESCAPE '/')
ORDER BY pipeline_runs.id
LIMIT ? OFFSET ?
