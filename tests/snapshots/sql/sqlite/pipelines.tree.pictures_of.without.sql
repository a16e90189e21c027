SELECT files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at, files.deleted_at, files.sha256, files.metadata, candidates.id AS candidate_id
FROM candidates
JOIN files ON files.id = candidates.file_id
WHERE candidates.tenant_id = ?
AND files.tenant_id = ?
AND candidates.run_id = ?
AND files.status = ?
ORDER BY candidates.id
LIMIT ? OFFSET ?
