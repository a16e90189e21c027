SELECT max(workflow_versions.version) AS version
FROM workflow_versions
WHERE workflow_versions.workflow_id = %(workflow_id_1)s::UUID
