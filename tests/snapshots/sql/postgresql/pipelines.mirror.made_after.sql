SELECT candidates.id, candidates.tenant_id, candidates.position, candidates.created_at, pipeline_runs.target_folder, pipelines.steps, files.path, files.disk, files.mime_type, files.size
FROM candidates
JOIN pipeline_runs ON pipeline_runs.tenant_id = candidates.tenant_id
AND pipeline_runs.id = candidates.run_id
JOIN pipelines ON pipelines.tenant_id = candidates.tenant_id
AND pipelines.id = pipeline_runs.pipeline_id
JOIN files ON files.tenant_id = candidates.tenant_id
AND files.id = candidates.file_id
WHERE files.status = %(status_1)s::VARCHAR
AND candidates.id > %(id_1)s::UUID
ORDER BY candidates.id
LIMIT %(param_1)s::INTEGER
