UPDATE comfyui_workers
SET capabilities=%(capabilities)s::JSONB, capability_digest=%(capability_digest)s::VARCHAR
WHERE comfyui_workers.id = %(id_1)s::UUID
AND comfyui_workers.incarnation = %(incarnation_1)s::BIGINT
RETURNING comfyui_workers.id
