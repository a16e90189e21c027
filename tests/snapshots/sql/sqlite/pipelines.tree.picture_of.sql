SELECT files.id
FROM files
JOIN candidates ON candidates.file_id = files.id
WHERE candidates.tenant_id = ?
AND candidates.id = ?
AND files.tenant_id = ?
AND files.user_id = ?
AND files.status = ?
