UPDATE comfyui_workers
SET capabilities=%(capabilities)s::JSONB, capability_digest=%(capability_digest)s::VARCHAR
WHERE comfyui_workers.id = %(id_1)s::UUID
AND comfyui_workers.incarnation = %(incarnation_1)s::BIGINT
RETURNING comfyui_workers.id, comfyui_workers.worker_id, comfyui_workers.fleet_id, comfyui_workers.registration_source, comfyui_workers.status, comfyui_workers.is_approved, comfyui_workers.is_draining, comfyui_workers.incarnation, comfyui_workers.token_hash, comfyui_workers.boot_id, comfyui_workers.capabilities, comfyui_workers.providers, comfyui_workers.max_concurrency, comfyui_workers.current_load, comfyui_workers.address, comfyui_workers.takeovers, comfyui_workers.takeovers_since, comfyui_workers.last_seen_at, comfyui_workers.created_at, comfyui_workers.capability_digest, comfyui_workers.drained_at
