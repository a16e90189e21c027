SELECT candidates.id, files.path, files.disk, files.mime_type, files.size, files.status AS file_status
FROM candidates
JOIN files ON files.id = candidates.file_id
WHERE candidates.tenant_id = ?
AND files.tenant_id = ?
AND candidates.run_id = ?
AND candidates.status = ?
AND candidates.scores IS NULL
AND candidates.position = ?
ORDER BY candidates.id
LIMIT ? OFFSET ?
