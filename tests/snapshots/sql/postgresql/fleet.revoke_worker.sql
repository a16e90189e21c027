UPDATE comfyui_workers
SET status=%(status)s::VARCHAR, is_approved=%(is_approved)s, is_draining=%(is_draining)s, incarnation=(comfyui_workers.incarnation + %(incarnation_1)s::BIGINT), token_hash=%(token_hash)s::VARCHAR, drained_at=%(drained_at)s::TIMESTAMP WITH TIME ZONE
WHERE comfyui_workers.id = %(id_1)s::UUID
AND comfyui_workers.status IN (__[POSTCOMPILE_status_1])
RETURNING comfyui_workers.id, comfyui_workers.worker_id, comfyui_workers.fleet_id, comfyui_workers.registration_source, comfyui_workers.status, comfyui_workers.is_approved, comfyui_workers.is_draining, comfyui_workers.incarnation, comfyui_workers.token_hash, comfyui_workers.boot_id, comfyui_workers.capabilities, comfyui_workers.providers, comfyui_workers.max_concurrency, comfyui_workers.current_load, comfyui_workers.address, comfyui_workers.takeovers, comfyui_workers.takeovers_since, comfyui_workers.last_seen_at, comfyui_workers.created_at, comfyui_workers.capability_digest, comfyui_workers.drained_at
